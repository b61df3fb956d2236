// Which listeners a name of a gateway stands for.

import type { Path } from '../error.ts'
import { nearest } from '../../nearest-name.ts'
import type { Context } from './context.ts'
import type { OpenGateway, OpenListener } from './gateways.ts'

export interface Attachments {
  readonly gateways: readonly OpenGateway[]
  /** Names of all gateways written, also of those that were refused. */
  readonly names: readonly string[]
}

/** What is used where no gateway is named. */
export const DEFAULT_GATEWAY = 'default'

/** `path` is that of the field that names them; each listener once. */
export function listenersFor(
  context: Context,
  path: Path,
  references: string | readonly string[],
  to: Attachments,
): Set<OpenListener> {
  const found = new Set<OpenListener>()
  for (const [at, reference] of [references].flat().entries()) {
    const listeners = resolve(reference, to)
    if (listeners === undefined) {
      const meant = nearest(reference, namesToRefer(to))
      const hint = meant === undefined ? '' : `, did you mean '${meant}'?`
      const place = typeof references === 'string' ? path : [...path, at]
      context.problem(place, `unknown gateway reference ${reference}${hint}`)
    }
    for (const listener of listeners ?? []) found.add(listener)
  }
  return found
}

/** None for a gateway that was refused: what it would have had is not known. */
function resolve(reference: string, to: Attachments): readonly OpenListener[] | undefined {
  const [name = '', part, ...rest] = reference.split('/')
  if (!to.names.includes(name) || rest.length > 0) return undefined
  const gateway = to.gateways.find((one) => one.name === name)
  if (gateway === undefined) return []
  if (part === undefined) return gateway.listeners
  const key = `gateway/${name}/${part}`
  const listener = gateway.listeners.find((one) => one.key === key)
  return listener === undefined ? undefined : [listener]
}

function namesToRefer(to: Attachments): string[] {
  const keys = to.gateways.flatMap(({ listeners }) => listeners.map(({ key }) => key.slice(8)))
  return [...to.names, ...keys]
}
