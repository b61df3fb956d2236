// What the parts of the mock provider tell each other. Shapes only.

export type Json = Readonly<Record<string, unknown>>

/** Whose errors a path answers with. */
export type ErrorStyle = 'openai' | 'anthropic' | 'google'

/** Why there is no answer. `param` is the field at fault, or what else the words need; '' where there is none. */
export interface Fault {
  readonly kind: 'fault'
  readonly why:
    | 'notJson'
    | 'missing'
    | 'invalid'
    | 'unknownPath'
    | 'method'
    | 'tooLarge'
    | 'limited'
    | 'broken'
    | 'busy'
  readonly param: string
}

/** A request, read whole. */
export interface Ask {
  readonly path: string
  readonly query: string
  readonly body: Json
}

/** What a request asks of a model, whichever dialect said it. */
export interface Asked {
  readonly kind: 'asked'
  readonly model: string
  /** Everything the model reads. */
  readonly texts: readonly string[]
  /** What its user said last. */
  readonly said: string
  /** Tokens it may answer with. */
  readonly most: number
  readonly form: 'whole' | 'stream'
  /** Whether a stream is to end with a chunk of its own for usage, where that is asked for. */
  readonly usageChunk: 'asked' | 'unasked'
}

export interface Tokens {
  readonly input: number
  readonly output: number
}

export interface Answer {
  /** Letters and digits made of the request; the dialect puts its mark in front. */
  readonly id: string
  readonly model: string
  /** They join to the text. */
  readonly words: readonly string[]
  readonly finish: 'stop' | 'length'
  /** null for a provider that does not tell. */
  readonly tokens: Tokens | null
  readonly usageChunk: 'asked' | 'unasked'
}

/** The content of an answer, in the pieces in which it is sent. */
export interface Said {
  readonly kind: 'said'
  readonly form: 'whole' | 'stream'
  readonly type: string
  readonly parts: readonly string[]
  readonly model: string
}

/** One way to ask a model for text. */
export interface Manner {
  readonly style: ErrorStyle
  read(ask: Ask): Asked | Fault
  whole(answer: Answer): Json
  stream(answer: Answer, ask: Ask): Pick<Said, 'type' | 'parts'>
}

/** What answers at a path. */
export interface Endpoint {
  readonly method: 'GET' | 'POST'
  readonly style: ErrorStyle
  answer(ask: Ask): Said | Fault
}
