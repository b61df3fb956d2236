// What a target said of itself in its answer to `initialize`.

import type { Message } from '../message.ts'

type Json = Readonly<Record<string, unknown>>

export class Profile {
  readonly version: string
  readonly capabilities: Json
  readonly instructions: string

  private constructor(result: Json) {
    const { protocolVersion, capabilities, instructions } = result
    this.version = typeof protocolVersion === 'string' ? protocolVersion : ''
    this.capabilities = objectOr(capabilities)
    this.instructions = typeof instructions === 'string' ? instructions : ''
  }

  /** null when it refused. */
  static from(message: Message): Profile | null {
    if (message.result === null) return null
    return new Profile(objectOr(JSON.parse(message.text(message.result))))
  }

  /** Whether it offers `tools`, `prompts`, `resources` … */
  offers(capability: string): boolean {
    return Object.hasOwn(this.capabilities, capability)
  }
}

export function objectOr(value: unknown): Json {
  // An object by the check; JSON has no other prototypes.
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {}
}
