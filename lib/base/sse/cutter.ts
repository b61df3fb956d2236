// Whole events out of the text of an event stream that is passed on: a comment that somebody writes in between must not
// break one.

/** Of an event that has not come whole. */
const MAX_HELD = 67_108_864

const END = '\n\n'

export class EventCutter {
  #parts: string[] = []
  #held = 0

  /** All that are whole now; null when one is longer than any of ours. */
  push(text: string): string | null {
    const end = this.#endIn(text)
    if (end === 0) {
      this.#keep(text)
      return this.#held > MAX_HELD ? null : ''
    }
    const whole = [...this.#parts, text.slice(0, end)].join('')
    this.#parts = []
    this.#held = 0
    this.#keep(text.slice(end))
    return whole
  }

  /** Behind the last whole event; 0 when there is none. */
  #endIn(text: string): number {
    const at = text.lastIndexOf(END)
    if (at >= 0) return at + END.length
    return text.startsWith('\n') && this.#parts.at(-1)?.endsWith('\n') === true ? 1 : 0
  }

  #keep(text: string): void {
    if (text === '') return
    this.#parts.push(text)
    this.#held += text.length
  }
}
