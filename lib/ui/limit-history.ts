// What was left of each limit over the last minutes, for a line that shows how fast it burns down.

const POINT_MS = 2_000
export const MAX_POINTS = 120
/** The first ones; whoever has more does not look at them all. */
export const MAX_RULES = 64

export type Point = readonly [at: number, remaining: number]

interface Left {
  readonly id: string
  readonly remaining: number
}

export class LimitHistory {
  readonly #points = new Map<string, Point[]>()
  #takenAt = -Infinity

  /** A point for each, unless that was done just now; limits that are gone are forgotten. */
  take(at: number, tightest: () => Iterable<Left>): void {
    // Half a sample early is not early: timers are not that exact.
    if (at - this.#takenAt < POINT_MS * 0.75) return
    this.#takenAt = at
    const gone = new Set(this.#points.keys())
    let left = MAX_RULES
    for (const { id, remaining } of tightest()) {
      if (left-- === 0) break
      gone.delete(id)
      this.#add(id, [at, remaining])
    }
    for (const id of gone) this.#points.delete(id)
  }

  of(id: string): readonly Point[] {
    return this.#points.get(id) ?? []
  }

  #add(id: string, point: Point): void {
    const points = this.#points.get(id)
    if (points === undefined) this.#points.set(id, [point])
    else if (points.push(point) > MAX_POINTS) points.shift()
  }
}
