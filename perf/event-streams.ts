// Sends events to many streams, spread evenly: n streams at interval t get one event each t/n.
import type { Socket } from 'node:net'
import { eventChunk, nowMicros } from './fixtures.ts'
import { Pacer } from './pacer.ts'

/** Below this the sleeping thread would mostly be waking. Several streams then share a tick. */
const SHORTEST_TICK_MICROS = 100

type Group = { interval: number; sockets: Socket[]; turn: number; owed: number; seen: number }

export class EventStreams {
  readonly #groups = new Map<number, Group>()
  readonly #pacer = new Pacer(() => this.#tick())

  /** Adds a stream that gets one event at once and then one each `interval` milliseconds. */
  add(socket: Socket, interval: number): void {
    const group = this.#groups.get(interval) ?? this.#open(interval)
    group.sockets.push(socket)
    socket.write(eventChunk(nowMicros()), 'latin1')
    socket.on('close', () => {
      group.sockets.splice(group.sockets.indexOf(socket), 1)
      if (group.sockets.length === 0) this.#groups.delete(interval)
      this.#pace()
    })
    this.#pace()
  }

  #open(interval: number): Group {
    const group = { interval, sockets: [], turn: 0, owed: 0, seen: nowMicros() }
    this.#groups.set(interval, group)
    return group
  }

  #pace(): void {
    const periods = [...this.#groups.values()].map(
      ({ interval, sockets }) => (interval * 1000) / sockets.length,
    )
    const shortest = Math.min(...periods)
    this.#pacer.every(Number.isFinite(shortest) ? Math.max(SHORTEST_TICK_MICROS, shortest) : 0)
  }

  #tick(): void {
    for (const group of this.#groups.values()) {
      const now = nowMicros()
      const { sockets, interval, seen } = group
      // At most one event a stream and tick, even after a long pause of this process.
      const earned = ((now - seen) / (interval * 1000)) * sockets.length
      group.owed = Math.min(group.owed + earned, sockets.length)
      group.seen = now
      for (; group.owed >= 1; group.owed--) {
        group.turn = (group.turn + 1) % sockets.length
        sockets[group.turn]?.write(eventChunk(nowMicros()), 'latin1')
      }
    }
  }
}
