// SPDX-License-Identifier: MIT
//
// A WebSocket for texts, from the client's side, over a loopback connection: as much of RFC 6455 as
// a browser's remote protocol needs. (Node has one of its own from version 22 on.)

import {randomBytes} from "node:crypto";
import http from "node:http";

const TEXT = 1,
  CLOSE = 8,
  PING = 9,
  PONG = 10;

/** @param {number} kind @param {Buffer} payload @returns {Buffer} a frame, masked as clients must */
function frame(kind, payload) {
  const {length} = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65536 ? 4 : 10);
  head[0] = 0x80 | kind;
  head[1] = 0x80 | (length < 126 ? length : length < 65536 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  const mask = randomBytes(4);
  const masked = Buffer.from(payload);
  for (let i = 0; i < length; i++) masked[i] ^= mask[i % 4];
  return Buffer.concat([head, mask, masked]);
}

/** The first frame of the bytes, or null if it is not there yet. @param {Buffer} bytes */
function firstFrame(bytes) {
  if (bytes.length < 2) return null;
  const short = bytes[1] & 127;
  const begin = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (bytes.length < begin) return null;
  const length =
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (bytes.length < begin + length) return null;
  return {
    last: Boolean(bytes[0] & 0x80),
    kind: bytes[0] & 15,
    payload: bytes.subarray(begin, begin + length),
    size: begin + length,
  };
}

/**
 * @param {string} url ws://...
 * @param {(text: string) => void} onText
 * @param {() => void} onClose
 * @returns {Promise<{send: (text: string) => void, close: () => void}>}
 */
export function openSocket(url, onText, onClose) {
  const headers = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
  };
  return new Promise((resolve, reject) => {
    const request = http.get(url.replace(/^ws:/, "http:"), {headers});
    request.on("error", reject);
    request.on("response", answer => reject(new Error(`${url}: status ${answer.statusCode}`)));
    request.on("upgrade", (_, socket, begin) => {
      let bytes = begin;
      let parts = [];
      const read = () => {
        for (let one = firstFrame(bytes); one; one = firstFrame(bytes)) {
          bytes = bytes.subarray(one.size);
          if (one.kind === PING) socket.write(frame(PONG, one.payload));
          if (one.kind === CLOSE) socket.end();
          if (one.kind > TEXT) continue;
          parts.push(one.payload);
          if (!one.last) continue;
          const text = Buffer.concat(parts).toString();
          parts = [];
          onText(text);
        }
      };
      socket.on("data", more => {
        bytes = Buffer.concat([bytes, more]);
        read();
      });
      socket.on("error", () => {});
      socket.on("close", onClose);
      resolve({
        send: text => socket.write(frame(TEXT, Buffer.from(text))),
        close: () => socket.end(frame(CLOSE, Buffer.alloc(0))),
      });
      read();
    });
  });
}
