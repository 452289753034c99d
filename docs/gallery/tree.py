# Two callers share a function that calls itself. Most of the leaves are the job's.
import sys
count = {"job": 0, "page": 0}

def leaf(who):
    count[who] += 1
    return sum(range(300))

def walk(depth, who):
    return leaf(who) + (walk(depth - 1, who) + walk(depth - 1, who) if depth else 0)

def job(rounds):
    for _ in range(rounds): walk(9, "job")

def page(rounds):
    for _ in range(rounds): walk(6, "page")

job(int(sys.argv[1])), page(int(sys.argv[1]))
print("%.1f" % (100 * count["job"] / sum(count.values())))
