// One call to a backend as a trace tells it: what goes out, and what comes back or does not.

import { shownReason } from '../redact/lines.ts'
import type { Hidden } from '../redact/names.ts'
import type { ResponseHead } from '../wire/head.ts'
import type { Tap } from '../types.ts'
import { BodyCopy } from './body-copy.ts'
import type { CallTrace, Message, ResponseStage, Scope, Severity } from './events.ts'
import { severityOf } from './severity.ts'

export interface CallOwner {
  readonly maxBodyBytes: number
  readonly hidden: Hidden
  emit(message: Message, more: { severity?: Severity; since?: number; scope?: Scope }): void
  /** The head of an answer; without a scope it is the one that policies see next. */
  answered(call: TracedCall, head: ResponseHead): void
  response(stage: ResponseStage, head: ResponseHead, scope?: Scope): void
}

export class TracedCall implements CallTrace {
  readonly scope: Scope
  readonly since = performance.now()
  /** When its answer or its failure came; 0 until then. */
  until = 0
  readonly #owner: CallOwner
  readonly #copy: BodyCopy

  constructor(owner: CallOwner, target: string, scope: Scope) {
    this.scope = scope
    this.#owner = owner
    this.#copy = new BodyCopy(owner.maxBodyBytes, (copy) => {
      const snapshot = copy.snapshot('final request', owner.hidden.parameters)
      if (snapshot.bytes > 0) owner.emit(snapshot, { scope })
    })
    owner.emit({ type: 'backendCallStart', target }, { scope })
  }

  /** Watches the request's body as it leaves. */
  get body(): Tap {
    return this.#copy
  }

  answered(head: ResponseHead): void {
    if (this.until > 0) return
    this.#result(head.status, null)
    this.#owner.answered(this, head)
    this.#owner.response('raw response', head, this.scope)
  }

  /** For an answer that no policy has a word on. */
  ready(head: ResponseHead): void {
    this.#owner.response('backend response ready', head, this.scope)
  }

  /** For an answer that has no head. */
  done(status: number): void {
    if (this.until === 0) this.#result(status, null)
  }

  failed(message: string): void {
    if (this.until === 0) this.#result(null, message)
  }

  /** Nothing more of it matters: what is still open ends here. */
  close(message: string, severity: Severity = 'error'): void {
    if (this.until === 0) this.#result(null, message, severity)
    this.#copy.end('complete')
  }

  #result(
    status: number | null,
    error: string | null,
    severity: Severity = severityOf(status, error),
  ): void {
    const { since, scope } = this
    this.until = performance.now()
    // Behind an answer the rest of the body may still be sent; behind a failure nothing is.
    if (error !== null) this.#copy.end('complete')
    // It may be what a client or a target says.
    const shown = error === null ? null : shownReason(error)
    const message = { type: 'backendCallResult', status, error: shown } as const
    this.#owner.emit(message, { severity, since, scope })
  }
}
