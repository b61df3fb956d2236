// Two ends of a process link in one process; each message passes through JSON as on an IPC channel.

import { ProcessLink } from '../../lib/core/process-link.ts'

export interface LinkPair {
  readonly here: ProcessLink
  readonly there: ProcessLink
  /** The messages that `here` has sent so far. */
  readonly said: readonly unknown[]
}

export function linkPair(): LinkPair {
  const said: unknown[] = []
  const here: ProcessLink = new ProcessLink((message, handle) => {
    const copy: unknown = JSON.parse(JSON.stringify(message))
    said.push(copy)
    queueMicrotask(() => there.receive(copy, handle))
  })
  const there: ProcessLink = new ProcessLink((message, handle) => {
    const copy: unknown = JSON.parse(JSON.stringify(message))
    queueMicrotask(() => here.receive(copy, handle))
  })
  return { here, there, said }
}
