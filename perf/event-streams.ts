// Sends events to many streams, spread evenly: n streams at interval t get one event each t/n.
import type { Socket } from 'node:net'
import { eventChunk, nowMicros } from './fixtures.ts'
import { Pacer } from './pacer.ts'

/** Below this interval the sleeping thread would wake all the time, so several streams share a tick. */
const SHORTEST_TICK_MICROS = 100

/** The next text to send, given how many events follow it. */
export type Script = (left: number) => string

type Stream = { socket: Socket; script: Script; left: number; gone: () => void }
type Group = { interval: number; streams: Stream[]; turn: number; owed: number; seen: number }

export class EventStreams {
  readonly #groups = new Map<number, Group>()
  readonly #pacer = new Pacer(() => this.#tick())

  /** Adds a stream that gets one event at once and then one each `interval` milliseconds, `count` in all. */
  add(
    socket: Socket,
    interval: number,
    count = Infinity,
    script: Script = () => eventChunk(nowMicros()),
  ): void {
    const group = this.#groups.get(interval) ?? this.#open(interval)
    const gone = (): void => this.#remove(group, stream)
    const stream: Stream = { socket, script, left: count, gone }
    group.streams.push(stream)
    socket.on('close', gone)
    this.#pace()
    this.#send(group, stream)
  }

  #open(interval: number): Group {
    const group = { interval, streams: [], turn: 0, owed: 0, seen: nowMicros() }
    this.#groups.set(interval, group)
    return group
  }

  #send(group: Group, stream: Stream): void {
    stream.left--
    stream.socket.write(stream.script(stream.left), 'latin1')
    if (stream.left <= 0) this.#remove(group, stream)
  }

  #remove(group: Group, stream: Stream): void {
    stream.socket.off('close', stream.gone)
    group.streams.splice(group.streams.indexOf(stream), 1)
    if (group.streams.length === 0) this.#groups.delete(group.interval)
    this.#pace()
  }

  #pace(): void {
    const periods = [...this.#groups.values()].map(
      ({ interval, streams }) => (interval * 1000) / streams.length,
    )
    const shortest = Math.min(...periods)
    this.#pacer.every(Number.isFinite(shortest) ? Math.max(SHORTEST_TICK_MICROS, shortest) : 0)
  }

  #tick(): void {
    for (const group of this.#groups.values()) {
      const now = nowMicros()
      const { streams, interval, seen } = group
      // At most one event per stream and tick, even after a long pause of this process.
      const earned = ((now - seen) / (interval * 1000)) * streams.length
      group.owed = Math.min(group.owed + earned, streams.length)
      group.seen = now
      for (; group.owed >= 1 && streams.length > 0; group.owed--) {
        group.turn = (group.turn + 1) % streams.length
        this.#send(group, streams[group.turn]!)
      }
    }
  }
}
