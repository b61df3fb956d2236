// A session with the echo server, in which the load calls its tool. Two files implement it: mcp-http.ts through a peer,
// mcp-stdio.ts without one. Neither uses an SDK, so that its cost is not counted as the peer's.

export type SessionEvents = {
  /** The response to this call is complete and correct, and another call can be made. */
  answered: (id: number) => void
  failed: (error: Error) => void
}

export type McpSession = {
  /** How long `initialize` took, in µs. */
  greeting: number
  /** Calls the tool; ids are never reused. */
  call: (id: number) => void
  /** No call is in flight. */
  end: () => Promise<void>
}

/** Opens a session for a number of parallel calls. */
export type Opener = (inFlight: number, events: SessionEvents) => Promise<McpSession>
