// Policy resources → their limits on the routes and gateways they name, and the status of each.
// A bad one does not stop the process: its status says why it does nothing.

import { limitOf } from './check/limits.ts'
import { NAMESPACE } from './check/routes.ts'
import type { OpenGateway } from './check/gateways.ts'
import { ConfigError } from './error.ts'
import { nearest } from '../nearest-name.ts'
import { Problems } from './problems.ts'
import { RESOURCE } from './shape/resource.ts'
import type { ResourceShape, TargetRef } from './shape/resource.ts'
import type { Ancestor, Condition, PolicyResource } from './resource-types.ts'
import type { LimitConfig } from './limit-types.ts'
import type { Source } from './source.ts'
import { report, wording } from './wording.ts'

const GROUP = 'gateway.networking.k8s.io'

export function attachResources(
  sources: readonly Source[],
  gateways: readonly OpenGateway[],
): PolicyResource[] {
  const names = new Set<string>()
  return sources.map((source) => {
    const problems = new Problems()
    const shape = RESOURCE.safeParse(source.data, { error: wording })
    if (!shape.success) {
      const told = { problem: addTo(problems, source) }
      report(told, shape.error.issues)
      return refused(source, messageOf(problems))
    }
    const { name, namespace } = shape.data.metadata
    const full = `${namespace}/${name}`
    if (names.has(full)) {
      problems.add(source.problem(['metadata', 'name'], `got a second GatewayPolicy ${full}`))
      return refused(source, messageOf(problems))
    }
    names.add(full)
    return attached(source, shape.data, gateways)
  })
}

/** Why resources do less than they say, one line each. */
export function complaintsOf(resources: readonly PolicyResource[]): string[] {
  return resources.flatMap((resource) => {
    const wrong = resource.status.ancestors
      .flatMap(({ conditions }) => conditions)
      .filter(({ status: holds, reason }) => holds === 'False' || reason === 'PartiallyValid')
    const reasons = new Set(wrong.filter(isTelling).map(({ message }) => message))
    const name = `GatewayPolicy ${resourceName(resource)}`
    return [...reasons].map((reason) => `${name}: ${reason.replaceAll('\n', '; ')}`)
  })
}

export function resourceName({ metadata }: Pick<PolicyResource, 'metadata'>): string {
  return `${metadata.namespace}/${metadata.name ?? ''}`
}

/** That it is not attached either goes without saying. */
function isTelling({ reason }: Condition): boolean {
  return reason !== 'NotAccepted'
}

function addTo(problems: Problems, source: Source) {
  return (...args: Parameters<Source['problem']>): void => problems.add(source.problem(...args))
}

function messageOf(problems: Problems): string {
  return new ConfigError(problems.list()).message
}

function attached(
  source: Source,
  shape: ResourceShape,
  gateways: readonly OpenGateway[],
): PolicyResource {
  const { metadata, spec } = shape
  const problems = new Problems()
  const resource = resourceName(shape)
  const limits = spec.traffic.rateLimit.local.map((limit, at) =>
    limitOf({ name: `GatewayPolicy ${resource} local[${at}]`, resource }, limit, (message) =>
      problems.add(
        source.problem(
          ['spec', 'traffic', 'rateLimit', 'local', at, 'key'],
          `${message}; one bucket for all`,
        ),
      ),
    ),
  )
  const isWhole = problems.list().length === 0
  const accepted = isWhole
    ? condition('Accepted', 'True', 'Accepted', 'Policy accepted')
    : condition('Accepted', 'True', 'PartiallyValid', messageOf(problems))
  const ancestors = spec.targetRefs.map((ref, at): Ancestor => {
    const lists = listsOf(ref, metadata.namespace, gateways)
    for (const list of lists) list.push(...limits)
    const missing = source.problem(
      ['spec', 'targetRefs', at, 'name'],
      missingTarget(ref, metadata.namespace, gateways),
    )
    const found =
      lists.size > 0
        ? condition('Attached', 'True', 'Attached', 'Attached to all targets')
        : condition('Attached', 'False', 'TargetNotFound', new ConfigError([missing]).message)
    return { ancestorRef: refOf(ref, metadata.namespace), conditions: [accepted, found] }
  })
  return shownResource(source, ancestors)
}

/** The limits of everything a target stands for; a route on several listeners has one list. */
function listsOf(
  ref: TargetRef,
  namespace: string,
  gateways: readonly OpenGateway[],
): Set<LimitConfig[]> {
  if (namespace !== NAMESPACE) return new Set()
  if (ref.kind === 'Gateway')
    return new Set(gateways.filter(({ name }) => name === ref.name).map(({ limits }) => limits))
  const routes = gateways.flatMap(({ listeners }) => listeners.flatMap((one) => one.routes))
  return new Set(routes.filter(({ name }) => name === ref.name).map(({ limits }) => limits))
}

function missingTarget(
  { kind, name }: TargetRef,
  namespace: string,
  gateways: readonly OpenGateway[],
): string {
  if (namespace !== NAMESPACE)
    return `no ${kind} ${namespace}/${name}, everything here is in namespace '${NAMESPACE}'`
  const routes = gateways.flatMap(({ listeners }) => listeners.flatMap((one) => one.routes))
  const known = kind === 'Gateway' ? gateways : routes
  const meant = nearest(
    name,
    known.map((one) => one.name),
  )
  const hint = meant === undefined ? '' : `, did you mean '${meant}'?`
  return `no ${kind} named '${name}'${hint}`
}

function refOf({ group = GROUP, kind, name }: TargetRef, namespace: string) {
  return { group, kind, name, namespace }
}

/** Nothing of it is used. */
function refused(source: Source, message: string): PolicyResource {
  const conditions = [
    condition('Accepted', 'False', 'Invalid', message),
    condition('Attached', 'False', 'NotAccepted', 'the policy is not accepted'),
  ]
  return shownResource(source, [{ ancestorRef: null, conditions }])
}

function condition(
  type: Condition['type'],
  status: Condition['status'],
  reason: string,
  message: string,
): Condition {
  return { type, status, reason, message }
}

function shownResource(source: Source, ancestors: readonly Ancestor[]): PolicyResource {
  const { apiVersion, metadata, spec } = source.data as Record<string, unknown>
  const { name, namespace } = (metadata ?? {}) as Record<string, unknown>
  const { file, line, column } = source.problem([], '')
  return {
    apiVersion: typeof apiVersion === 'string' ? apiVersion : null,
    kind: 'GatewayPolicy',
    metadata: {
      name: typeof name === 'string' ? name : null,
      namespace: typeof namespace === 'string' ? namespace : NAMESPACE,
    },
    spec: spec ?? null,
    status: { ancestors },
    place: `${file}:${line}:${column}`,
  }
}
