// How a call stands: under way, or how it ended.

import { html, useEffect, useRef, useState } from '../view.ts'
import type { ComponentChildren, VNode } from '../view.ts'
import type { Progress } from './client.ts'
import { HttpFault, RpcFault, faultWords, objectsIn, textOf } from './messages.ts'
import type { Members } from './messages.ts'
import type { CallState } from './work.ts'
import { Badge } from '../parts/badge.ts'
import { Copy } from '../parts/copy.ts'
import { DataView } from '../parts/data-view.ts'
import { Blocks, Contents } from './content.ts'
import type { Read } from './content.ts'
import { latencyText } from '../parts/words.ts'

const TICK_MS = 100

export function CallResult(props: { readonly call: CallState; readonly read: Read }): VNode {
  const { call, read } = props
  const place = useRef<HTMLElement>(null)
  const seen = useRef(call.state)
  useEffect(() => {
    // Not for what was there before somebody came back.
    if (call.state !== 'idle' && call.state !== seen.current)
      place.current?.scrollIntoView({ block: 'nearest' })
    seen.current = call.state
  }, [call.state])
  return html`
    <section class="result" aria-label="Result" aria-live="polite" ref=${place}>
      ${shownOf(call, read)}
    </section>
  `
}

function shownOf(call: CallState, read: Read): ComponentChildren {
  switch (call.state) {
    case 'idle':
      return null
    case 'running':
      return html`<${Running} since=${call.since} progress=${call.progress} />`
    case 'cancelled':
      return html`<${Ended} tone="warn" word="cancelled" took=${call.took} />`
    case 'failed':
      return html`<${Failed} error=${call.error} took=${call.took} />`
    case 'done':
      return html`<${Done} result=${call.result} took=${call.took} read=${read} />`
  }
}

function Running(props: { readonly since: number; readonly progress: Progress | null }): VNode {
  const { since, progress } = props
  const [now, setNow] = useState(performance.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  const { progress: done, total, message } = progress ?? { progress: 0, total: null, message: '' }
  return html`
    <div class="row" aria-hidden="true">
      <${Badge} tone="accent">running<//>
      <span class="dim number">${latencyText(Math.max(now - since, 0))}</span>
      ${
        progress !== null &&
        html`
          <span class="number">${total === null ? done : `${done} of ${total}`}</span>
          <span class="dim">${message}</span>
        `
      }
    </div>
    <progress
      aria-label="Progress of the call"
      max=${total ?? undefined}
      value=${total === null ? undefined : done}
    ></progress>
  `
}

function Ended(props: {
  readonly tone: 'good' | 'warn' | 'bad'
  readonly word: string
  readonly took: number
  readonly children?: ComponentChildren
}): VNode {
  const { tone, word, took, children } = props
  return html`
    <div class="row ended">
      <${Badge} tone=${tone}>${word}<//>
      <span class="dim number">${latencyText(took)}</span>
      ${children}
    </div>
  `
}

function Failed(props: { readonly error: unknown; readonly took: number }): VNode {
  const { error, took } = props
  const word =
    error instanceof RpcFault
      ? `error ${error.code}`
      : error instanceof HttpFault
        ? `status ${error.status}`
        : 'no answer'
  const data = error instanceof RpcFault ? error.data : undefined
  return html`
    <div class="failed">
      <${Ended} tone="bad" word=${word} took=${took} />
      <p class="bad">${faultWords(error)}</p>
      ${data !== undefined && html`<${DataView} value=${data} name="Data of the error" />`}
    </div>
  `
}

function Done(props: {
  readonly result: Members
  readonly took: number
  readonly read: Read
}): VNode {
  const { result, took, read } = props
  const [as, setAs] = useState<'shown' | 'raw'>('shown')
  const isError = result['isError'] === true
  const failed = objectsIn((result['_meta'] as Members | undefined)?.['gateway/failedTargets'])
  return html`
    <div class=${isError ? 'failed' : ''}>
      <${Ended}
        tone=${isError ? 'bad' : 'good'}
        word=${isError ? 'the tool failed' : 'ok'}
        took=${took}
      >
        <span class="tools">
          <button type="button" onClick=${() => setAs(as === 'raw' ? 'shown' : 'raw')}>
            ${as === 'raw' ? 'As shown' : 'As it came'}
          </button>
          <${Copy} text=${JSON.stringify(result, null, 2)} label="Copy JSON" />
        </span>
      <//>
      ${failed.map(
        (one) => html`<p class="warn">${textOf(one['target'])}: ${textOf(one['reason'])}</p>`,
      )}
      ${
        as === 'raw'
          ? html`<${DataView} value=${result} open=${4} name="Result" />`
          : html`<${Parts} result=${result} read=${read} />`
      }
    </div>
  `
}

/** Of a tool, a prompt or a resource; whatever else there is, is data. */
function Parts(props: { readonly result: Members; readonly read: Read }): VNode {
  const { content, structuredContent, messages, contents, ...rest } = props.result
  const { _meta: _, isError: _isError, description, ...others } = rest
  const hasOthers = Object.keys(others).length > 0
  return html`
    <div class="parts">
      ${typeof description === 'string' && html`<p class="dim">${description}</p>`}
      ${content !== undefined && html`<${Blocks} of=${content} read=${props.read} />`}
      ${objectsIn(contents).map((one, at) => html`<${Contents} key=${at} of=${one} />`)}
      ${objectsIn(messages).map(
        (one, at) => html`
          <div class="message" key=${at}>
            <${Badge} tone="accent">${textOf(one['role']) || 'nobody'}<//>
            <${Blocks} of=${[one['content']].flat()} read=${props.read} />
          </div>
        `,
      )}
      ${
        structuredContent !== undefined &&
        html`
          <div class="piece">
            <h3>Structured content</h3>
            <${DataView} value=${structuredContent} open=${4} name="Structured content" />
          </div>
        `
      }
      ${hasOthers && html`<${DataView} value=${others} name="Rest of the result" />`}
    </div>
  `
}
