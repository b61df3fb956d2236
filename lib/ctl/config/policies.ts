// The policies of a dump as rows: those written where they hold, and resources that refer to it.

import { cut, each, fields, word } from './dump.ts'
import type { Fields } from './dump.ts'

export interface PolicyRow {
  readonly kind: string
  /** What it holds for. */
  readonly at: string
  readonly status: string
  readonly policy: unknown
}

export const POLICY_HEADINGS = ['KIND', 'AT', 'STATUS', 'POLICY']

export function policyRows(dump: Fields): PolicyRow[] {
  return [...inlineRows(dump), ...each(dump['policies']).map(resourceRow)]
}

export function policyCells({ kind, at, status, policy }: PolicyRow): string[] {
  return [kind, at, status, cut(JSON.stringify(policy))]
}

function inlineRows(dump: Fields): PolicyRow[] {
  const binds = each(dump['binds'])
  const listeners = binds.flatMap(({ listeners: inside }) => each(inside))
  const routes = listeners.flatMap(({ routes: inside }) => each(inside))
  const backends = each(dump['backends']).map(({ backend, inlinePolicies }) => {
    const { name } = fields(Object.values(fields(backend))[0])
    return { key: name, inlinePolicies }
  })
  return [
    ...binds.flatMap((bind) => rowsOf(bind, '')),
    ...listeners.flatMap((listener) => rowsOf(listener, 'listener ')),
    ...routes.flatMap((route) => rowsOf(route, 'route ')),
    ...backends.flatMap((backend) => rowsOf(backend, 'backend ')),
  ]
}

function rowsOf({ key, inlinePolicies }: Fields, place: string): PolicyRow[] {
  return each(inlinePolicies)
    .flatMap((policies) => Object.entries(policies))
    .map(([kind, policy]) => ({ kind, at: place + word(key), status: 'inline', policy }))
}

function resourceRow({ kind, metadata, spec, status }: Fields): PolicyRow {
  const { name, namespace } = fields(metadata)
  const { targetRefs, ...policy } = fields(spec)
  const targets = each(targetRefs).map(
    (target) => `${word(target['kind'])}/${word(target['name'])}`,
  )
  return {
    kind: `${word(kind)} ${word(namespace, 'default')}/${word(name)}`,
    at: targets.join(', ') || '-',
    status: statusText(status),
    policy,
  }
}

/** What is true of it; what is not is said. */
function statusText(status: unknown): string {
  const conditions = each(fields(status)['ancestors'])
    .flatMap(({ conditions: list }) => each(list))
    .concat(each(fields(status)['conditions']))
  const words = conditions.map(({ type, status: state, reason }) =>
    state === 'True' ? word(type) : `not ${word(type)} (${word(reason)})`,
  )
  return [...new Set(words)].join(', ') || '-'
}
