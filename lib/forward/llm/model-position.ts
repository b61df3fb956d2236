// Finds the model that the path or the query of a request names: some providers have it in their paths, realtime in the query.

import { isUnambiguousPath, listPathReadings } from './llm-formats.ts'

export interface PathAndQuery {
  readonly path: string
  readonly query: string
}

export interface ModelInHead {
  readonly where: 'path' | 'query'
  readonly model: string
  /** Path and query with another model. */
  withModel(model: string): PathAndQuery
  /** The name of a model as the `model` member of the body spells it. */
  bodyNameOf(model: string): string
}

/** `unclear`: there is a model, but servers may read different ones. */
export type ModelNaming = ModelInHead | 'unclear' | null

interface ModelPathPattern {
  /** The segment before the model. */
  readonly before: string
  /** Matches a path from `listPathReadings`. */
  readonly reading: RegExp
  /** Matches a path as the client wrote it: the part before the model, the model, and the part after it. */
  readonly parts: RegExp
  /** The prefix of the model in the body. */
  readonly bodyPrefix: string
  /** `sure`: no other API has such paths. */
  readonly certainty: 'sure' | 'likely'
}

const MODEL_PATH_PATTERNS: readonly ModelPathPattern[] = [
  // Gemini: /v1beta/models/<model>:generateContent
  {
    before: 'models/',
    reading: /models\/.+:[a-z]+$/,
    parts: /^(.*\/models\/)([^/]+?)((?::|%3a)[a-z]+\/*)$/i,
    bodyPrefix: 'models/',
    certainty: 'sure',
  },
  // Azure: /openai/deployments/<model>/chat/completions
  {
    before: '/deployments/',
    reading: /\/deployments\/.+\/./,
    parts: /^(.*\/deployments\/)([^/]+)(\/.+)$/i,
    bodyPrefix: '',
    certainty: 'likely',
  },
  // Bedrock: /model/<model>/converse
  {
    before: '/model/',
    reading: /\/model\/.+\/(?:converse|invoke|count-tokens)[a-z-]*$/,
    parts: /^(.*\/model\/)([^/]+)(\/(?:converse|invoke|count-tokens)[a-z-]*\/*)$/i,
    bodyPrefix: '',
    certainty: 'sure',
  },
]

const CERTAIN_PATH_PATTERNS = MODEL_PATH_PATTERNS.filter(({ certainty }) => certainty === 'sure')

/** The characters allowed in model names; others may be an attempt to be read in two ways. */
const MODEL_NAME = /^[\w.:@+~/-]{1,1024}$/

export function findModelInPath(
  { path, query }: PathAndQuery,
  kinds: 'any' | 'sure' = 'any',
): ModelNaming {
  const readings = listPathReadings(path)
  const patterns = kinds === 'any' ? MODEL_PATH_PATTERNS : CERTAIN_PATH_PATTERNS
  const [pattern, ...others] = patterns.filter((one) =>
    readings.some((path) => one.reading.test(path)),
  )
  if (pattern === undefined) return null
  const { before, parts, bodyPrefix } = pattern
  const isOnce = readings.every((reading) => reading.split(before).length === 2)
  const [, front, encoded, rest] = (isUnambiguousPath(path) && parts.exec(path)) || []
  const model = encoded === undefined ? null : decodeModelName(encoded)
  if (others.length > 0 || !isOnce || model === null || !MODEL_NAME.test(model)) return 'unclear'
  return {
    where: 'path',
    model,
    withModel: (other: string) => ({ path: `${front}${encodeURIComponent(other)}${rest}`, query }),
    bodyNameOf: (other) => bodyPrefix + other,
  }
}

/** In lower case. */
const MODEL_PARAMETERS: ReadonlySet<string> = new Set(['model', 'deployment'])

export function findModelInQuery({ path, query }: PathAndQuery): ModelNaming {
  const parts = query.split('&')
  const parameters = parts.flatMap((part, index) => {
    const [[name = '', model = ''] = []] = new URLSearchParams(part)
    return MODEL_PARAMETERS.has(name.toLowerCase()) ? [{ index, name, model }] : []
  })
  const [parameter] = parameters
  if (parameter === undefined) return null
  if (parameters.length > 1 || !MODEL_NAME.test(parameter.model)) return 'unclear'
  return {
    where: 'query',
    model: parameter.model,
    withModel: (other: string) => {
      const part = `${parameter.name}=${encodeURIComponent(other)}`
      return { path, query: parts.with(parameter.index, part).join('&') }
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
