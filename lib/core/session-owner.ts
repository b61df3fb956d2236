// Which worker owns an MCP session, by the suffix of its id: requests of one session may arrive at any worker.

import type { RequestHead } from './head.ts'

const NAME = /^w\d{1,2}e\d{1,9}$/

/** A name that no other worker of this gateway has, had or will have. */
export function workerNameOf({ slot, epoch }: { slot: number; epoch: number }): string {
  return `w${slot}e${epoch}`
}

/** The suffix of the session ids that a worker creates. */
export function sessionSuffixOf(worker: string): string {
  return `.${worker}`
}

/** The worker that a request's session id names; null for none. */
export function findSessionWorker(request: RequestHead): string | null {
  const id = request.get('mcp-session-id') ?? legacySessionOf(request)
  if (id === undefined) return null
  const name = id.slice(id.lastIndexOf('.') + 1)
  return NAME.test(name) ? name : null
}

/** The older transport has the id in the query. */
function legacySessionOf({ target, query }: RequestHead): string | undefined {
  if (!target.includes('sessionId=')) return undefined
  return new URLSearchParams(query).get('sessionId') ?? undefined
}
