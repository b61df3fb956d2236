// What a client told its targets and a target that was started again must hear once more.

import type { Edit } from '../../../base/json/edit.ts'
import { MAX_SUBSCRIPTIONS } from '../bounds.ts'
import type { Trace } from '../../../base/trace/events.ts'
import type { Message } from '../message.ts'
import type { Target, Waiter } from './target.ts'

export class Memory {
  /** The last `logging/setLevel`. */
  #level: Message | null = null
  /** Requests to subscribe, as their targets got them, by target and URI. */
  readonly #subscriptions = new Map<
    string,
    { target: Target; message: Message; edits: readonly Edit[] }
  >()

  /** A request that was granted; `target` is null for all of them. */
  keep(message: Message, target: Target | null, edits: readonly Edit[]): void {
    if (message.method === 'logging/setLevel') this.#level = message
    if (target === null) return
    const key = `${target.name} ${message.textParam('uri')}`
    if (message.method === 'resources/unsubscribe') this.#subscriptions.delete(key)
    if (message.method === 'resources/subscribe' && this.#subscriptions.size < MAX_SUBSCRIPTIONS)
      this.#subscriptions.set(key, { target, message, edits })
  }

  /** Tells a target all of it again. */
  repeat(target: Target, trace: Trace | null): void {
    const failed: Waiter['failed'] = (_reason, reply) => reply?.body.cancel()
    const say = (make: (idText: string) => Buffer): void => {
      target.request(make, { trace, answered() {}, failed })
    }
    const level = this.#level
    if (level !== null && target.profile?.offers('logging') === true)
      say((idText) => level.withId(idText))
    for (const one of this.#subscriptions.values())
      if (one.target === target) say((idText) => one.message.withId(idText, ...one.edits))
  }
}
