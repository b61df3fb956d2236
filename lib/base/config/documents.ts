// Which document of the texts is the configuration, and which are policy resources beside it.

import type { Problems } from './problems.ts'
import { nearest } from '../nearest-name.ts'
import type { Source } from './source.ts'

const KIND = 'GatewayPolicy'

export interface Documents {
  /** Undefined when there is none, which is a problem. */
  readonly main: Source | undefined
  readonly resources: readonly Source[]
}

/** `file` is told about when no document is found at all. */
export function documentsOf(
  sources: readonly Source[],
  file: string,
  problems: Problems,
): Documents {
  const resources: Source[] = []
  let main: Source | undefined
  for (const source of sources) {
    if (isResource(source.data)) {
      const { kind } = source.data
      if (kind === KIND) resources.push(source)
      else problems.add(source.problem(['kind'], wrongKind(kind)))
    } else if (main === undefined) main = source
    else {
      const { file: other, line, column } = main.problem([], '')
      const message = `got a second configuration beside ${other}:${line}:${column}, expected one, and documents of kind ${KIND}`
      problems.add(source.problem([], message))
    }
  }
  if (main === undefined) {
    const message = 'got no configuration, expected at least gateways, mcp or llm'
    problems.add({ file, line: 1, column: 1, path: '', message })
  }
  return { main, resources }
}

/** A configuration has neither field. */
function isResource(data: unknown): data is { kind?: unknown } {
  return typeof data === 'object' && data !== null && ('kind' in data || 'apiVersion' in data)
}

function wrongKind(kind: unknown): string {
  if (kind === undefined) return 'kind is required'
  if (typeof kind !== 'string') return `expected '${KIND}'`
  const hint = nearest(kind, [KIND]) === undefined ? '' : `, did you mean '${KIND}'?`
  return `got '${kind}', expected '${KIND}'${hint}`
}
