// Attaches the limits of policy resources to routes and gateways, and builds the status of each resource.
// An invalid resource does not stop the process: its status names the reason.

import { buildLimit } from './check/check-limits.ts'
import { DEFAULT_NAMESPACE } from './check/check-gateways.ts'
import type { GatewayDraft } from './check/check-gateways.ts'
import { ConfigError, ConfigProblems } from './config-error.ts'
import { nearest } from '../text/nearest-name.ts'
import { POLICY_RESOURCE } from './shape/document-shapes.ts'
import type { ResourceShape, TargetRef } from './shape/document-shapes.ts'
import type {
  AncestorRef,
  PolicyAncestor,
  PolicyCondition,
  PolicyResource,
} from './backend-types.ts'
import type { ConfigSource } from './yaml-source.ts'
import { reportIssues, describeIssue } from './problem-texts.ts'
import type { ProblemReporter } from './problem-texts.ts'

const GROUP = 'gateway.networking.k8s.io'

/** The routes and gateways that policy resources can be attached to. */
export interface ResourceTargets {
  readonly gateways: readonly GatewayDraft[]
  /** The kinds of which the configuration sets a namespace; targets of other kinds are found by name alone. */
  readonly namespacedKinds: ReadonlySet<TargetRef['kind']>
}

export function attachResources(
  sources: readonly ConfigSource[],
  targets: ResourceTargets,
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
    return attachResource(source, shape.data, targets)
  })
}

/** A resource that is refused or not attached limits nothing, which is an error; a partially valid one is a warning. */
export interface ResourceProblem {
  readonly level: 'error' | 'warn'
  readonly event: 'policy refused' | 'policy not attached' | 'policy partially valid'
  readonly policy: string
  readonly message: string
}

const PROBLEM_EVENTS: Readonly<Record<string, ResourceProblem['event']>> = {
  Invalid: 'policy refused',
  TargetNotFound: 'policy not attached',
  PartiallyValid: 'policy partially valid',
}

/** The problems of all resources, each once. */
export function listResourceProblems(resources: readonly PolicyResource[]): ResourceProblem[] {
  return resources.flatMap((resource) => {
    const found = new Map<string, ResourceProblem>()
    for (const { conditions } of resource.status.ancestors)
      for (const { status, reason, message: text } of conditions) {
        const event = PROBLEM_EVENTS[reason]
        if (event === undefined) continue
        const message = text.replaceAll('\n', '; ')
        const level = status === 'True' ? 'warn' : 'error'
        found.set(message, { level, event, policy: resourceNameOf(resource), message })
      }
    return [...found.values()]
  })
}

/** The same problems as texts, one line each. */
export function describeResourceProblems(resources: readonly PolicyResource[]): string[] {
  return listResourceProblems(resources).map(
    ({ policy, message }) => `GatewayPolicy ${policy}: ${message}`,
  )
}

type PolicyState = 'attached' | 'not_attached' | 'refused'

/** The number of resources in each state; a resource with one missing target is not attached. */
export function countResourceStates(
  resources: readonly PolicyResource[],
): Readonly<Record<PolicyState, number>> {
  const counts = { attached: 0, not_attached: 0, refused: 0 }
  for (const { status } of resources) {
    const reasons = status.ancestors.flatMap(({ conditions }) =>
      conditions.map(({ reason }) => reason),
    )
    if (reasons.includes('Invalid')) counts.refused++
    else if (reasons.includes('TargetNotFound')) counts.not_attached++
    else counts.attached++
  }
  return counts
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
  targets: ResourceTargets,
): PolicyResource {
  const { metadata, spec } = shape
  const problems = new ConfigProblems()
  const resource = resourceNameOf(shape)
  const limits = spec.traffic.rateLimit.local.map((limit, at) =>
    buildLimit(
      { name: `GatewayPolicy ${resource} local[${at}]`, resource },
      limit,
      (kind, message) => {
        const effect = kind === 'invalid' ? '; all requests share one bucket' : ''
        const path = ['spec', 'traffic', 'rateLimit', 'local', at, 'key']
        problems.add(source.problemAt(path, `${message}${effect}`))
      },
    ),
  )
  const isValid = problems.sorted().length === 0
  const accepted = isValid
    ? buildCondition('Accepted', 'True', 'Accepted', 'Policy accepted')
    : buildCondition('Accepted', 'True', 'PartiallyValid', joinProblems(problems))
  const ancestors = spec.targetRefs.map((ref, at): PolicyAncestor => {
    const { group = GROUP, kind, name } = ref
    const namespace = targets.namespacedKinds.has(kind) ? metadata.namespace : null
    const found = listTargets(kind, targets).filter(
      (one) => one.name === name && (namespace === null || one.namespace === namespace),
    )
    // A route on several listeners has one list.
    for (const list of new Set(found.map((one) => one.limits))) list.push(...limits)
    const ancestorRef = { group, kind, name, namespace: metadata.namespace }
    const missing = source.problemAt(
      ['spec', 'targetRefs', at, 'name'],
      describeMissingTarget(ref, namespace, targets),
    )
    const attached =
      found.length > 0
        ? buildCondition('Attached', 'True', 'Attached', describeAttachment(ancestorRef, namespace))
        : buildCondition('Attached', 'False', 'TargetNotFound', new ConfigError([missing]).message)
    return { ancestorRef, conditions: [accepted, attached] }
  })
  return describeResource(source, ancestors)
}

type ResourceTarget = Pick<GatewayDraft, 'name' | 'namespace' | 'limits'>

function listTargets(
  kind: TargetRef['kind'],
  { gateways }: ResourceTargets,
): readonly ResourceTarget[] {
  if (kind === 'Gateway') return gateways
  return gateways.flatMap(({ listeners }) => listeners.flatMap((one) => one.routes))
}

const KIND_NAMES = { HTTPRoute: 'route', Gateway: 'gateway' } as const

/** `namespace` is null when targets are found by name alone. */
function describeAttachment(ref: AncestorRef, namespace: string | null): string {
  if (namespace !== null || ref.namespace === DEFAULT_NAMESPACE) return 'Attached to all targets'
  return `Attached to all targets by name: no ${KIND_NAMES[ref.kind]} sets a namespace`
}

function describeMissingTarget(
  { kind, name }: TargetRef,
  namespace: string | null,
  targets: ResourceTargets,
): string {
  const known = listTargets(kind, targets)
  const namespaces = new Set(known.filter((one) => one.name === name).map((one) => one.namespace))
  if (namespaces.size > 0) {
    const others = [...namespaces].map((one) => `'${one}'`).join(', ')
    return `no ${kind} named '${name}' in namespace '${namespace}', it is in ${others}`
  }
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
      namespace: typeof namespace === 'string' ? namespace : DEFAULT_NAMESPACE,
    },
    spec: spec ?? null,
    status: { ancestors },
    place: `${file}:${line}:${column}`,
  }
}
