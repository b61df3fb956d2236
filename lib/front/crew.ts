// The workers that can be asked just now, and questions to all of them at a time.

import { messageOf } from '../base/errors.ts'
import { workerName } from '../base/processes/session-mark.ts'
import type { WorkerDoor, WorkerId } from '../workers/types.ts'

/** What one of them said, or why it said nothing. */
export type Said<T> =
  | { readonly door: WorkerDoor; readonly value: T }
  | { readonly door: WorkerDoor; readonly problem: string }

export class Crew {
  readonly #members = new Map<string, WorkerDoor>()

  /** By slot; of one slot the newest first, as the others are about to leave. */
  get members(): WorkerDoor[] {
    return [...this.#members.values()].toSorted(
      (one, other) => one.slot - other.slot || other.epoch - one.epoch,
    )
  }

  /** One for each slot: those that take new connections. */
  get newest(): WorkerDoor[] {
    const { members } = this
    return members.filter(({ slot }, at) => members[at - 1]?.slot !== slot)
  }

  of(id: WorkerId): WorkerDoor | undefined {
    return this.#members.get(workerName(id))
  }

  has(id: WorkerId): boolean {
    return this.#members.has(workerName(id))
  }

  add(door: WorkerDoor): void {
    this.#members.set(workerName(door), door)
  }

  delete(id: WorkerId): void {
    this.#members.delete(workerName(id))
  }

  /** In the order of the workers. */
  all<T>(ask: (door: WorkerDoor) => Promise<T>): Promise<Said<T>[]> {
    return Promise.all(
      this.members.map(async (door) => {
        try {
          return { door, value: await ask(door) }
        } catch (error) {
          return { door, problem: messageOf(error) }
        }
      }),
    )
  }
}
