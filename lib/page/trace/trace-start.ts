// The form that starts a trace: which request to wait for, and a command that sends one.

import type { RuntimeView } from '../../admin/page-api/page-api-types.ts'
import { quoteForShell } from '../../trace-view/curl-command.ts'
import { html, useEffect, useRef, useState } from '../page-view.ts'
import type { VNode } from '../page-view.ts'
import { curlFor } from '../parts/seen-requests.ts'
import { useObservable } from '../observable.ts'
import { RUNTIME, useLoaded } from '../server-data.ts'
import { Copy } from '../parts/elements.ts'
import { TRACER } from './tracer.ts'
import type { TraceMode, Watch } from './tracer.ts'

const MAX_LENGTH = 4_096
const TICK_MS = 1_000

const EXAMPLES: readonly (readonly [name: string, expression: string])[] = [
  ['by path', 'request.path.startsWith("/v1")'],
  ['by method', 'request.method == "POST"'],
  ['by header', 'request.headers["x-team"] == "blue"'],
  ['by client', 'source.address == "127.0.0.1"'],
]

interface TraceStartProps {
  readonly expression: string
  readonly setExpression: (expression: string) => void
  readonly watch: Watch
  readonly start: (mode: TraceMode) => void
  readonly stop: () => void
  readonly load: (file: File) => void
}

export function TraceStart(props: TraceStartProps): VNode {
  const { expression, setExpression, watch, start, stop, load } = props
  const mode = useObservable(TRACER.mode)
  const isBusy = watch.state !== 'idle' && watch.state !== 'failed'
  const submit = (event: Event): void => {
    event.preventDefault()
    start(mode)
  }
  const end = (event: Event): void => {
    // After the stop, the same button is a submit button, and this click would submit.
    event.preventDefault()
    stop()
  }
  return html`
    <section class="card trace-arm" aria-label="Trace a request">
      <form onSubmit=${submit}>
        <label for="trace-expression">
          Only requests that match <span class="minor">(CEL expression; empty for any)</span>
        </label>
        <div class="trace-line">
          <input
            id="trace-expression"
            class="mono"
            value=${expression}
            maxlength=${MAX_LENGTH}
            placeholder="any request"
            autocomplete="off"
            autocapitalize="off"
            spellcheck=${false}
            aria-invalid=${watch.state === 'failed'}
            aria-describedby=${watch.state === 'failed' ? 'trace-error' : undefined}
            onInput=${(event: Event) => setExpression((event.target as HTMLInputElement).value)}
          />
          <button
            type=${isBusy ? 'button' : 'submit'}
            class=${isBusy ? 'stop' : 'main'}
            onClick=${isBusy ? end : undefined}
          >
            ${isBusy ? 'Stop' : 'Trace the next request'}
          </button>
        </div>
        <${More}
          setExpression=${setExpression}
          mode=${mode}
          setMode=${(next: TraceMode) => TRACER.mode.set(next)}
          isBusy=${isBusy}
          load=${load}
        />
      </form>
      <${WatchState} watch=${watch} expression=${expression} />
    </section>
  `
}

interface MoreProps {
  readonly setExpression: (expression: string) => void
  readonly mode: TraceMode
  readonly setMode: (mode: TraceMode) => void
  readonly isBusy: boolean
  readonly load: (file: File) => void
}

/** Examples, continuous tracing, and loading a file. */
function More(props: MoreProps): VNode {
  const { setExpression, mode, setMode, isBusy, load } = props
  return html`
    <div class="row trace-more">
      <span class="dim">Examples:</span>
      ${EXAMPLES.map(
        ([name, example]) => html`
          <button type="button" class="chip" onClick=${() => setExpression(example)}>
            ${name}
          </button>
        `,
      )}
      <span class="space"></span>
      <label class="check">
        <input
          type="checkbox"
          checked=${mode !== 'once'}
          disabled=${isBusy}
          onChange=${(event: Event) =>
            setMode((event.target as HTMLInputElement).checked ? 'continuous' : 'once')}
        />
        Keep tracing
      </label>
      <${OpenFile} load=${load} />
    </div>
  `
}

function OpenFile(props: { readonly load: (file: File) => void }): VNode {
  const input = useRef<HTMLInputElement>(null)
  const chosen = (): void => {
    const file = input.current?.files?.[0]
    if (file !== undefined) props.load(file)
    // So that the same file can be selected again.
    if (input.current !== null) input.current.value = ''
  }
  return html`
    <span>
      <input
        class="unseen"
        type="file"
        id="trace-file"
        tabindex="-1"
        aria-label="Trace file (JSON lines)"
        accept=".jsonl,.json,.txt,.log"
        ref=${input}
        onChange=${chosen}
      />
      <button type="button" onClick=${() => input.current?.click()}>Open file…</button>
    </span>
  `
}

function WatchState(props: { readonly watch: Watch; readonly expression: string }): VNode {
  const { watch, expression } = props
  const [now, setNow] = useState(Date.now)
  const isWaiting = watch.state === 'waiting'
  useEffect(() => {
    if (!isWaiting) return undefined
    setNow(Date.now())
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [isWaiting])
  return html`
    <div role="status">
      ${watch.state === 'opening' && html`<p class="wait">Starting the trace…</p>`}
      ${
        isWaiting &&
        html`<p class="wait">
          <span class="pulse" aria-hidden="true"></span>
          Waiting for a request${expression.trim() === '' ? '' : ' that matches'}…
          <span class="dim" aria-hidden="true">
            ${Math.max(0, Math.floor((now - watch.since) / 1_000))} s
          </span>
        </p>`
      }
      ${isWaiting && html`<${ExampleCommand} expression=${expression} />`}
      ${
        watch.state === 'running' &&
        html`<p class="wait">
          <span class="pulse" aria-hidden="true"></span>A request is in progress…
        </p>`
      }
      ${watch.state === 'failed' && html`<p id="trace-error" class="note bad">${watch.error}</p>`}
    </div>
  `
}

/** A command that sends a matching request. */
function ExampleCommand(props: { readonly expression: string }): VNode | null {
  const [runtime] = useLoaded<RuntimeView>(RUNTIME)
  if (runtime.state !== 'ready') return null
  const listener = runtime.value.listeners.find(({ state }) => state === 'open')
  if (listener === undefined) return null
  const line = matchingCurl(curlFor(listener, location.hostname), props.expression)
  if (line === null) return null
  return html`
    <p class="row">
      <span class="dim">Send one:</span>
      <code class="command">${line}</code>
      <${Copy} text=${line} />
    </p>
  `
}

const TEXT = '("(?:[^"\\\\]|\\\\.)*")'
const METHOD = new RegExp(`^request\\.method == ${TEXT}$`)
const PATH = new RegExp(`^request\\.path(?: == ${TEXT}|\\.startsWith\\(${TEXT}\\))$`)
const HEADER = new RegExp(`^request\\.headers\\[${TEXT}\\] == ${TEXT}$`)

/** `root` is a command for `/`; null where the expression has more than method, path and header comparisons. */
export function matchingCurl(root: string, expression: string): string | null {
  let path = '/'
  const words: string[] = []
  for (const part of expression.split('&&').map((one) => one.trim())) {
    if (part === '') continue
    const [, method] = METHOD.exec(part) ?? []
    const [, exact, prefix] = PATH.exec(part) ?? []
    const [, name, value] = HEADER.exec(part) ?? []
    const wanted = textOf(exact ?? prefix)
    if (method !== undefined) words.push(`-X ${quoteForShell(textOf(method))}`)
    else if (wanted.startsWith('/')) path = wanted
    else if (name !== undefined)
      words.push(`-H ${quoteForShell(`${textOf(name)}: ${textOf(value)}`)}`)
    else return null
  }
  const at = root.lastIndexOf(' ') + 1
  const url = root.slice(at).replace(/\/$/, '') + encodeURI(path)
  return [
    root.slice(0, at).trim(),
    ...words.filter((word) => word !== '-X GET'),
    quoteForShell(url),
  ].join(' ')
}

function textOf(literal: string | undefined): string {
  try {
    return JSON.parse(literal ?? '""') as string
  } catch {
    return ''
  }
}
