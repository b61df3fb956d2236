// Attaches the limits of policy resources to routes and gateways, and builds the status of each resource.
// An invalid resource does not stop the process: its status names the reason.

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
import type { ProblemReporter } from './problem-texts.ts'

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
      const reporter: ProblemReporter = {
        problem: (...at) => problems.add(source.problemAt(...at)),
      }
      reportIssues(reporter, shape.error.issues)
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

/** Problems of policy resources that are refused, partially valid or not attached, one line each. */
export function describeResourceProblems(resources: readonly PolicyResource[]): string[] {
  return resources.flatMap((resource) => {
    // A resource that is not accepted is never attached, so NotAccepted adds nothing.
    const conditions = resource.status.ancestors
      .flatMap((ancestor) => ancestor.conditions)
      .filter(({ status, reason }) => status === 'False' || reason === 'PartiallyValid')
      .filter(({ reason }) => reason !== 'NotAccepted')
    const messages = new Set(conditions.map(({ message }) => message))
    const name = `GatewayPolicy ${resourceNameOf(resource)}`
    return [...messages].map((message) => `${name}: ${message.replaceAll('\n', '; ')}`)
  })
}

export function resourceNameOf({ metadata }: Pick<PolicyResource, 'metadata'>): string {
  return `${metadata.namespace}/${metadata.name ?? ''}`
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
          `${message}; all requests share one bucket`,
        ),
      ),
    ),
  )
  const isValid = problems.sorted().length === 0
  const accepted = isValid
    ? buildCondition('Accepted', 'True', 'Accepted', 'Policy accepted')
    : buildCondition('Accepted', 'True', 'PartiallyValid', joinProblems(problems))
  const ancestors = spec.targetRefs.map((ref, at): PolicyAncestor => {
    const lists = findLimitLists(ref, metadata.namespace, gateways)
    for (const list of lists) list.push(...limits)
    const missing = source.problemAt(
      ['spec', 'targetRefs', at, 'name'],
      describeMissingTarget(ref, metadata.namespace, gateways),
    )
    const attached =
      lists.size > 0
        ? buildCondition('Attached', 'True', 'Attached', 'Attached to all targets')
        : buildCondition('Attached', 'False', 'TargetNotFound', new ConfigError([missing]).message)
    const { group = GROUP, kind, name } = ref
    const ancestorRef = { group, kind, name, namespace: metadata.namespace }
    return { ancestorRef, conditions: [accepted, attached] }
  })
  return describeResource(source, ancestors)
}

/** The limit lists of all routes or gateways with the name of the target; a route on several listeners has one list. */
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
    return `no ${kind} ${namespace}/${name}, all routes and gateways are in namespace '${NAMESPACE}'`
  const routes = gateways.flatMap(({ listeners }) => listeners.flatMap((one) => one.routes))
  const known = kind === 'Gateway' ? gateways : routes
  const suggestion = nearest(
    name,
    known.map((one) => one.name),
  )
  const hint = suggestion === undefined ? '' : `, did you mean '${suggestion}'?`
  return `no ${kind} named '${name}'${hint}`
}

/** The status of an invalid resource, which is not used at all. */
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
