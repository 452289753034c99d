// SPDX-License-Identifier: MIT
//
// Asks the server, or the module inside a page that is one file. Errors carry the answer's own
// code, message and candidates.

import {answerInside, inside} from "./inside.js";

export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   * @param {string[]} candidates
   */
  constructor(status, code, message, candidates) {
    super(message);
    this.status = status;
    this.code = code;
    this.candidates = candidates;
  }
}

const LONGEST = 30_000; // characters of an address

/** @param {string} question as in docs/api.md @param {URLSearchParams|null} query */
export function apiUrl(question, query = null) {
  const text = query?.toString();
  return "/api/v1/" + question + (text ? "?" + text : "");
}

/** @param {string} target @param {AbortSignal} [signal] @returns {Promise<Response>} */
function request(target, signal) {
  return inside ? answerInside(target) : fetch(target, {signal});
}

/**
 * Saves what the module inside the page answers. A server's answer is saved by a plain link.
 * @param {string} target
 * @param {string} name
 */
export async function save(target, name) {
  const answer = await request(target);
  const url = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * @param {string} question
 * @param {URLSearchParams|null} query
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function ask(question, query, signal) {
  let answer;
  const url = apiUrl(question, query);
  // The server would close the connection, which looks as if there were none.
  if (url.length > LONGEST)
    throw new ApiError(414, "too-long", "The address is too long for the server to read.", []);
  try {
    answer = await request(url, signal);
    if (answer.ok) return await answer.json();
  } catch (error) {
    // An answer that breaks off is none; one that is no JSON is a bug of ours.
    if (signal?.aborted || inside || error instanceof SyntaxError) throw error;
    throw new ApiError(
      0,
      "unreachable",
      "The server does not answer. Is `ouro view` still running?",
      [],
    );
  }
  const said = await answer.json().catch(() => null);
  const error = said?.error ?? {};
  throw new ApiError(
    answer.status,
    error.code ?? "error",
    error.message ?? `The server said ${answer.status}.`,
    error.candidates ?? [],
  );
}
