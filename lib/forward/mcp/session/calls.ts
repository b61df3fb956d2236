// The calls of a session that wait for an answer, and how much they hold.

import { MAX_CALL_BYTES, MAX_CALLS } from '../bounds.ts'
import type { Message } from '../message.ts'
import type { RpcError } from '../rpc.ts'
import { CODES } from '../rpc.ts'
import type { Call } from './call.ts'

export class Calls implements Iterable<Call> {
  readonly #open = new Set<Call>()
  #bytes = 0

  get size(): number {
    return this.#open.size
  }

  add(call: Call): void {
    this.#open.add(call)
    this.#bytes += call.message.bytes.length
  }

  delete(call: Call): void {
    if (this.#open.delete(call)) this.#bytes -= call.message.bytes.length
  }

  /** Why these cannot wait as well, or null. */
  refusalOf(requests: readonly Message[]): RpcError | null {
    if (this.#open.size + requests.length > MAX_CALLS)
      return { code: CODES.server, message: `more than ${MAX_CALLS} calls wait for an answer` }
    const bytes = requests.reduce((sum, message) => sum + message.bytes.length, this.#bytes)
    if (bytes <= MAX_CALL_BYTES) return null
    const message = `calls of more than ${MAX_CALL_BYTES} bytes wait for an answer`
    return { code: CODES.server, message }
  }

  [Symbol.iterator](): Iterator<Call> {
    return this.#open.values()
  }
}
