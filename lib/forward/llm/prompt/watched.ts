// The members of a request's body that are looked for: those that tell what is asked, and those that edits may name.

/** A longer one is refused: it is no model's name. */
export const MAX_MODEL_BYTES = 1_024
/** Longer options are refused as well. */
export const MAX_OPTIONS_BYTES = 16_384
const MAX_SCALAR_BYTES = 64

/** How much is kept of the values that tell what is asked. */
const FACTS: readonly [name: string, bytes: number][] = [
  ['model', MAX_MODEL_BYTES],
  ['stream', MAX_SCALAR_BYTES],
  ['stream_options', MAX_OPTIONS_BYTES],
  ['max_tokens', MAX_SCALAR_BYTES],
  ['max_completion_tokens', MAX_SCALAR_BYTES],
  ['max_output_tokens', MAX_SCALAR_BYTES],
]

export interface Watched {
  /** By name: how many bytes of the value are kept, 0 where only its place matters. */
  readonly bounds: ReadonlyMap<string, number>
  /** Each name as `folded` has it, and as it is written. */
  readonly spellings: ReadonlyMap<string, string>
}

/** Made once for all requests of a route; `names` are all that its edits may name. */
export function watchedWith(names: Iterable<string>): Watched {
  const bounds = new Map<string, number>()
  for (const name of names) bounds.set(name, 0)
  for (const [name, bytes] of FACTS) bounds.set(name, bytes)
  return { bounds, spellings: new Map([...bounds.keys()].map((name) => [folded(name), name])) }
}

/** Some readers of JSON, Go's among them, take names for equal that differ in case only; ſ is an s to them, and K a k. */
export function folded(name: string): string {
  return name.toUpperCase().toLowerCase()
}
