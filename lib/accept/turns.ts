// Lets connections take turns: many requests that one client has sent at once are not all answered before anybody else's.

/** Requests of one connection that are answered one after the other; then all others have their turn. */
const IN_A_ROW = 16

export class Turns {
  #row = 0

  /** Calls `next` now or, after so many, when others were served. */
  take(next: () => void): void {
    if (++this.#row < IN_A_ROW) return next()
    setImmediate(() => {
      this.#row = 0
      next()
    })
  }
}
