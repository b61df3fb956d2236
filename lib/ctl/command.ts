// What a command of gwctl is: its words, its options, and what runs.

/** `value` names what an option takes; one without it is a switch. */
export interface Option {
  readonly name: string
  readonly short?: string
  /** Other spellings that people know from elsewhere. */
  readonly other?: string
  readonly value?: string
  readonly about: string
  /** Given any number of times. */
  readonly repeats?: true
}

/** What was typed, taken apart. */
export interface Call {
  /** Behind the words of the command. */
  readonly words: readonly string[]
  readonly options: ReadonlyMap<string, readonly string[]>
  /** Behind `--`; null where there was none. */
  readonly rest: readonly string[] | null
}

export interface Command {
  /** Its words: `proxy config all`. */
  readonly name: string
  /** Its last word may be one of these as well. */
  readonly aliases?: readonly string[]
  /** What may stand behind it, for the help. */
  readonly usage?: string
  /** Whether something may stand behind `--`. */
  readonly takesRest?: true
  readonly about: string
  readonly options: readonly Option[]
  readonly examples: readonly string[]
  /** A group of other commands has none. */
  readonly run?: (call: Call) => Promise<void>
}

export function has(call: Call, name: string): boolean {
  return call.options.has(name)
}

/** The last one given wins. */
export function valueOf(call: Call, name: string): string | undefined {
  return call.options.get(name)?.at(-1)
}

/** A whole number of an option, or what stands for none; throws `invalid --name x`. */
export function portOf(call: Call, name: string, fallback: number): number {
  const text = valueOf(call, name)
  if (text === undefined) return fallback
  const port = Number(text)
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) throw new Error(`invalid --${name} ${text}`)
  return port
}
