// A text that must not be printed: every way to print or serialise it yields `<redacted>`.

import { inspect } from 'node:util'

const SHOWN = '<redacted>'

export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  reveal(): string {
    return this.#text
  }

  toString(): string {
    return SHOWN
  }

  toJSON(): string {
    return SHOWN
  }

  [inspect.custom](): string {
    return SHOWN
  }
}
