// Where the head of a request names its model: some providers read it from their paths, and realtime from the query.

import { isPlain, readings } from './spelling.ts'

export interface Place {
  readonly path: string
  readonly query: string
}

export interface NamedModel {
  readonly where: 'path' | 'query'
  readonly model: string
  /** The same with another model in its place. */
  at(model: string): Place
  /** How a body calls it, if it does. */
  inBody(model: string): string
}

/** `unclear`: it names one, but not every server would read the same. */
export type Naming = NamedModel | 'unclear' | null

interface Kind {
  /** The name that stands in front of the model. */
  readonly before: string
  /** Of a path as servers read it. */
  readonly looks: RegExp
  /** Of a path as it is written: what stands before the model, the model, and what stands behind it. */
  readonly parts: RegExp
  readonly inBody: string
  /** `sure`: no other API has such paths. */
  readonly is: 'sure' | 'likely'
}

const KINDS: readonly Kind[] = [
  // Gemini: /v1beta/models/<model>:generateContent
  {
    before: 'models/',
    looks: /models\/.+:[a-z]+$/,
    parts: /^(.*\/models\/)([^/]+?)((?::|%3a)[a-z]+\/*)$/i,
    inBody: 'models/',
    is: 'sure',
  },
  // Azure: /openai/deployments/<model>/chat/completions
  {
    before: '/deployments/',
    looks: /\/deployments\/.+\/./,
    parts: /^(.*\/deployments\/)([^/]+)(\/.+)$/i,
    inBody: '',
    is: 'likely',
  },
  // Bedrock: /model/<model>/converse
  {
    before: '/model/',
    looks: /\/model\/.+\/(?:converse|invoke|count-tokens)[a-z-]*$/,
    parts: /^(.*\/model\/)([^/]+)(\/(?:converse|invoke|count-tokens)[a-z-]*\/*)$/i,
    inBody: '',
    is: 'sure',
  },
]

const SURE_KINDS = KINDS.filter(({ is }) => is === 'sure')

/** Letters of names in heads; what has others is somebody's try to be read in two ways. */
const NAME = /^[\w.:@+~/-]{1,1024}$/

export function namedInPath({ path, query }: Place, kinds: 'any' | 'sure' = 'any'): Naming {
  const ways = readings(path)
  const [kind, ...others] = (kinds === 'any' ? KINDS : SURE_KINDS).filter(({ looks }) =>
    ways.some((read) => looks.test(read)),
  )
  if (kind === undefined) return null
  const { before, parts, inBody } = kind
  const isOnce = ways.every((read) => read.split(before).length === 2)
  const [, front, written, rest] = (isPlain(path) && parts.exec(path)) || []
  const model = written === undefined ? null : decoded(written)
  if (others.length > 0 || !isOnce || model === null || !NAME.test(model)) return 'unclear'
  return {
    where: 'path',
    model,
    at: (other: string) => ({ path: `${front}${encodeURIComponent(other)}${rest}`, query }),
    inBody: (other) => inBody + other,
  }
}

/** Parameters that name it, in small letters. */
const PARAMETERS: ReadonlySet<string> = new Set(['model', 'deployment'])

export function namedInQuery({ path, query }: Place): Naming {
  const parts = query.split('&')
  const places = parts.flatMap((part, at) => {
    const [[name = '', model = ''] = []] = new URLSearchParams(part)
    return PARAMETERS.has(name.toLowerCase()) ? [{ at, name, model }] : []
  })
  const [place] = places
  if (place === undefined) return null
  if (places.length > 1 || !NAME.test(place.model)) return 'unclear'
  return {
    where: 'query',
    model: place.model,
    at: (other: string) => {
      const part = `${place.name}=${encodeURIComponent(other)}`
      return { path, query: parts.with(place.at, part).join('&') }
    },
    inBody: (other) => other,
  }
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
