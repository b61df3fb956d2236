// Policy resources → their limits on the routes and gateways they name, and the status of each.
// A bad one does not stop the process: its status says why it does nothing.

import { buildLimit } from './check/check-limits.ts'
import { NAMESPACE } from './check/check-routes.ts'
import type { GatewayDraft } from './check/check-gateways.ts'
import { ConfigError, ConfigProblems } from './config-error.ts'
import { nearest } from '../text/nearest-name.ts'
import { POLICY_RESOURCE } from './shape/document-shapes.ts'
import type { ResourceShape, TargetRef } from './shape/document-shapes.ts'
import type { PolicyAncestor, PolicyCondition, PolicyResource } from './backend-types.ts'
import type { LimitConfig } from './policy-types.ts'
import type { ConfigSource } from './yaml-source.ts'
import { reportIssues, describeIssue } from './problem-texts.ts'

const GROUP = 'gateway.networking.k8s.io'

export function attachResources(
  sources: readonly ConfigSource[],
  gateways: readonly GatewayDraft[],
): PolicyResource[] {
  const names = new Set<string>()
  return sources.map((source) => {
    const problems = new ConfigProblems()
    const shape = POLICY_RESOURCE.safeParse(source.data, { error: describeIssue })
    if (!shape.success) {
      const told = { problem: reporterFor(problems, source) }
      reportIssues(told, shape.error.issues)
      return refuseResource(source, joinProblems(problems))
    }
    const { name, namespace } = shape.data.metadata
    const full = `${namespace}/${name}`
    if (names.has(full)) {
      problems.add(source.problemAt(['metadata', 'name'], `got a second GatewayPolicy ${full}`))
      return refuseResource(source, joinProblems(problems))
    }
    names.add(full)
    return attachResource(source, shape.data, gateways)
  })
}

/** Why resources do less than they say, one line each. */
export function describeResourceProblems(resources: readonly PolicyResource[]): string[] {
  return resources.flatMap((resource) => {
    const wrong = resource.status.ancestors
      .flatMap(({ conditions }) => conditions)
      .filter(({ status: holds, reason }) => holds === 'False' || reason === 'PartiallyValid')
    const reasons = new Set(wrong.filter(isWorthReporting).map(({ message }) => message))
    const name = `GatewayPolicy ${resourceNameOf(resource)}`
    return [...reasons].map((reason) => `${name}: ${reason.replaceAll('\n', '; ')}`)
  })
}

export function resourceNameOf({ metadata }: Pick<PolicyResource, 'metadata'>): string {
  return `${metadata.namespace}/${metadata.name ?? ''}`
}

/** That it is not attached either goes without saying. */
function isWorthReporting({ reason }: PolicyCondition): boolean {
  return reason !== 'NotAccepted'
}

function reporterFor(problems: ConfigProblems, source: ConfigSource) {
  return (...args: Parameters<ConfigSource['problemAt']>): void =>
    problems.add(source.problemAt(...args))
}

function joinProblems(problems: ConfigProblems): string {
  return new ConfigError(problems.sorted()).message
}

function attachResource(
  source: ConfigSource,
  shape: ResourceShape,
  gateways: readonly GatewayDraft[],
): PolicyResource {
  const { metadata, spec } = shape
  const problems = new ConfigProblems()
  const resource = resourceNameOf(shape)
  const limits = spec.traffic.rateLimit.local.map((limit, at) =>
    buildLimit({ name: `GatewayPolicy ${resource} local[${at}]`, resource }, limit, (message) =>
      problems.add(
        source.problemAt(
          ['spec', 'traffic', 'rateLimit', 'local', at, 'key'],
          `${message}; one bucket for all`,
        ),
      ),
    ),
  )
  const isWhole = problems.sorted().length === 0
  const accepted = isWhole
    ? buildCondition('Accepted', 'True', 'Accepted', 'Policy accepted')
    : buildCondition('Accepted', 'True', 'PartiallyValid', joinProblems(problems))
  const ancestors = spec.targetRefs.map((ref, at): PolicyAncestor => {
    const lists = findLimitLists(ref, metadata.namespace, gateways)
    for (const list of lists) list.push(...limits)
    const missing = source.problemAt(
      ['spec', 'targetRefs', at, 'name'],
      describeMissingTarget(ref, metadata.namespace, gateways),
    )
    const found =
      lists.size > 0
        ? buildCondition('Attached', 'True', 'Attached', 'Attached to all targets')
        : buildCondition('Attached', 'False', 'TargetNotFound', new ConfigError([missing]).message)
    return { ancestorRef: ancestorRefOf(ref, metadata.namespace), conditions: [accepted, found] }
  })
  return describeResource(source, ancestors)
}

/** The limits of everything a target stands for; a route on several listeners has one list. */
function findLimitLists(
  ref: TargetRef,
  namespace: string,
  gateways: readonly GatewayDraft[],
): Set<LimitConfig[]> {
  if (namespace !== NAMESPACE) return new Set()
  if (ref.kind === 'Gateway')
    return new Set(gateways.filter(({ name }) => name === ref.name).map(({ limits }) => limits))
  const routes = gateways.flatMap(({ listeners }) => listeners.flatMap((one) => one.routes))
  return new Set(routes.filter(({ name }) => name === ref.name).map(({ limits }) => limits))
}

function describeMissingTarget(
  { kind, name }: TargetRef,
  namespace: string,
  gateways: readonly GatewayDraft[],
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

function ancestorRefOf({ group = GROUP, kind, name }: TargetRef, namespace: string) {
  return { group, kind, name, namespace }
}

/** Nothing of it is used. */
function refuseResource(source: ConfigSource, message: string): PolicyResource {
  const conditions = [
    buildCondition('Accepted', 'False', 'Invalid', message),
    buildCondition('Attached', 'False', 'NotAccepted', 'the policy is not accepted'),
  ]
  return describeResource(source, [{ ancestorRef: null, conditions }])
}

function buildCondition(
  type: PolicyCondition['type'],
  status: PolicyCondition['status'],
  reason: string,
  message: string,
): PolicyCondition {
  return { type, status, reason, message }
}

function describeResource(
  source: ConfigSource,
  ancestors: readonly PolicyAncestor[],
): PolicyResource {
  const { apiVersion, metadata, spec } = source.data as Record<string, unknown>
  const { name, namespace } = (metadata ?? {}) as Record<string, unknown>
  const { file, line, column } = source.problemAt([], '')
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
