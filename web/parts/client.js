// SPDX-License-Identifier: MIT
//
// Asks the server. Errors carry the server's own code, message and candidates.

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

/** @param {string} question as in docs/api.md @param {URLSearchParams|null} query */
export function apiUrl(question, query = null) {
  const text = query?.toString();
  return "/api/v1/" + question + (text ? "?" + text : "");
}

const TRIES = 8;
const GONE = ["no-such-path", "no-such-block"];

/**
 * Asks about a path, or about the longest prefix of it that exists: with a filter, on the other
 * side of a comparison, or in a new recording there may be less.
 * @param {string[]} path
 * @param {(at: string[]) => Promise<any>} one
 * @returns {Promise<any>} the answer, with `at`
 */
export async function askAlong(path, one) {
  for (let n = path.length; ; n = n > path.length - TRIES ? n - 1 : 0) {
    const at = path.slice(0, Math.max(0, n));
    try {
      return {...(await one(at)), at};
    } catch (error) {
      const isGone = error instanceof ApiError && GONE.includes(error.code);
      if (!isGone || !at.length) throw error;
    }
  }
}

/**
 * @param {string} question
 * @param {URLSearchParams|null} query
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function ask(question, query, signal) {
  let answer;
  try {
    answer = await fetch(apiUrl(question, query), {signal});
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(
      0,
      "unreachable",
      "The server does not answer. Is `ouro view` still running?",
      [],
    );
  }
  if (answer.ok) return answer.json();
  const said = await answer.json().catch(() => null);
  const error = said?.error ?? {};
  throw new ApiError(
    answer.status,
    error.code ?? "error",
    error.message ?? `The server said ${answer.status}.`,
    error.candidates ?? [],
  );
}
