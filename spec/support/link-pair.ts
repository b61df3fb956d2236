// Two ends of a link in one process, each message through JSON as on a channel of Node.

import { Link } from '../../lib/base/processes/link.ts'

export interface LinkPair {
  readonly here: Link
  readonly there: Link
  /** What `here` has said so far. */
  readonly said: readonly unknown[]
}

export function linkPair(): LinkPair {
  const said: unknown[] = []
  const here: Link = new Link((message, handle) => {
    const copy: unknown = JSON.parse(JSON.stringify(message))
    said.push(copy)
    queueMicrotask(() => there.hear(copy, handle))
  })
  const there: Link = new Link((message, handle) => {
    const copy: unknown = JSON.parse(JSON.stringify(message))
    queueMicrotask(() => here.hear(copy, handle))
  })
  return { here, there, said }
}
