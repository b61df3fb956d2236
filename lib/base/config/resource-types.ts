// Policy resources, as they are shown.

/** What a resource is attached to. */
export interface AncestorRef {
  readonly group: string
  readonly kind: 'HTTPRoute' | 'Gateway'
  readonly name: string
  readonly namespace: string
}

export interface Condition {
  readonly type: 'Accepted' | 'Attached'
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

export interface Ancestor {
  /** null when the resource names no target that can be read. */
  readonly ancestorRef: AncestorRef | null
  readonly conditions: readonly Condition[]
}

/** spec.md §2.6 */
export interface PolicyResource {
  /** As it was written; null where it cannot be read. */
  readonly apiVersion: string | null
  readonly kind: 'GatewayPolicy'
  readonly metadata: { readonly name: string | null; readonly namespace: string }
  readonly spec: unknown
  readonly status: { readonly ancestors: readonly Ancestor[] }
  /** `file:line:column` */
  readonly place: string
}
