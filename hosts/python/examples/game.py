# SPDX-License-Identifier: MIT
"""A game's loop without the pictures: sparks fly and fade. Most frames take the same time, some stutter. The sums over
the whole run do not say why; the slow frames, beside the others, do:

    ouro python --slice frame -o game.pb.gz game.py && ouro report --slices game.pb.gz

The reason: sparks refer to one another, so only the collector can free them. The game calls it when a thousand have
faded, after it has looked for the longest flights among all that ever were.
"""
import gc

FRAMES, BORN, LIFE, MOST_DEAD = 400, 10, 30, 1000


class Spark:
    def __init__(self, x, twin):
        self.x, self.y, self.vx, self.vy, self.life = x, 0, x % 7 - 3, x % 5 + 1, LIFE
        self.twin = twin or self


class Game:
    def __init__(self):
        self.sparks, self.flights, self.best, self.dead, self.tidied = [], [], [], 0, 0

    def spawn(self, frame):
        for i in range(BORN):
            self.sparks.append(Spark(frame * BORN + i, self.sparks[-1] if self.sparks else None))

    def move(self):
        for spark in self.sparks:
            spark.x, spark.y, spark.life = spark.x + spark.vx, spark.y + spark.vy, spark.life - 1

    def fade(self):
        faded = [spark for spark in self.sparks if spark.life == 0]
        self.flights.extend(abs(spark.vx) + spark.vy for spark in faded)
        self.sparks = [spark for spark in self.sparks if spark.life]
        self.dead += len(faded)

    def tidy(self):
        self.best = sorted([(length, number) for number, length in enumerate(self.flights)], reverse=True)[:10]
        self.dead = 0
        self.tidied += 1
        gc.collect()

    def frame(self, number):
        self.spawn(number)
        self.move()
        self.fade()
        if self.dead >= MOST_DEAD:
            self.tidy()


def main():
    gc.disable()
    game = Game()
    for number in range(FRAMES):
        game.frame(number)
    assert len(game.sparks) == BORN * (LIFE - 1)
    assert len(game.flights) == BORN * (FRAMES - LIFE + 1)
    assert game.tidied == len(game.flights) // MOST_DEAD and game.best[0][0] == 8
    print(f"{FRAMES} frames, {game.tidied} of them slow")


main()
