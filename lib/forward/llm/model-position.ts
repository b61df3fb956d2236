// Where the head of a request names its model: some providers read it from their paths, and realtime from the query.

import { isUnambiguousPath, listPathReadings } from './llm-formats.ts'

export interface PathAndQuery {
  readonly path: string
  readonly query: string
}

export interface ModelInHead {
  readonly where: 'path' | 'query'
  readonly model: string
  /** The same with another model in its place. */
  withModel(model: string): PathAndQuery
  /** How a body calls it, if it does. */
  bodyNameOf(model: string): string
}

/** `unclear`: it names one, but not every server would read the same. */
export type ModelNaming = ModelInHead | 'unclear' | null

interface ModelPathPattern {
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

const MODEL_PATH_PATTERNS: readonly ModelPathPattern[] = [
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

const CERTAIN_PATH_PATTERNS = MODEL_PATH_PATTERNS.filter(({ is }) => is === 'sure')

/** Letters of names in heads; what has others is somebody's try to be read in two ways. */
const MODEL_NAME = /^[\w.:@+~/-]{1,1024}$/

export function findModelInPath(
  { path, query }: PathAndQuery,
  kinds: 'any' | 'sure' = 'any',
): ModelNaming {
  const ways = listPathReadings(path)
  const [kind, ...others] = (kinds === 'any' ? MODEL_PATH_PATTERNS : CERTAIN_PATH_PATTERNS).filter(
    ({ looks }) => ways.some((read) => looks.test(read)),
  )
  if (kind === undefined) return null
  const { before, parts, inBody } = kind
  const isOnce = ways.every((read) => read.split(before).length === 2)
  const [, front, written, rest] = (isUnambiguousPath(path) && parts.exec(path)) || []
  const model = written === undefined ? null : decodeModelName(written)
  if (others.length > 0 || !isOnce || model === null || !MODEL_NAME.test(model)) return 'unclear'
  return {
    where: 'path',
    model,
    withModel: (other: string) => ({ path: `${front}${encodeURIComponent(other)}${rest}`, query }),
    bodyNameOf: (other) => inBody + other,
  }
}

/** Parameters that name it, in small letters. */
const PARAMETERS: ReadonlySet<string> = new Set(['model', 'deployment'])

export function findModelInQuery({ path, query }: PathAndQuery): ModelNaming {
  const parts = query.split('&')
  const places = parts.flatMap((part, at) => {
    const [[name = '', model = ''] = []] = new URLSearchParams(part)
    return PARAMETERS.has(name.toLowerCase()) ? [{ at, name, model }] : []
  })
  const [place] = places
  if (place === undefined) return null
  if (places.length > 1 || !MODEL_NAME.test(place.model)) return 'unclear'
  return {
    where: 'query',
    model: place.model,
    withModel: (other: string) => {
      const part = `${place.name}=${encodeURIComponent(other)}`
      return { path, query: parts.with(place.at, part).join('&') }
    },
    bodyNameOf: (other) => other,
  }
}

function decodeModelName(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
