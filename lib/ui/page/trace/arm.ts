// How a trace begins: which request to wait for, the button, and the wait.

import { html, useEffect, useRef, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import { curlFor } from '../parts/requests.ts'
import { curlLike } from './likely.ts'
import { useHeld } from '../use-held.ts'
import { useLoaded } from '../use.ts'
import { TRACER } from './of-tab.ts'
import type { Pace, Watch } from './tracer.ts'
import { RUNTIME } from '../api.ts'
import type { RuntimeView } from '../../../admin/page-api/page-api-types.ts'
import { Copy } from '../parts/copy.ts'

const MOST_LETTERS = 4_096
const TICK_MS = 1_000

const EXAMPLES: readonly (readonly [name: string, expression: string])[] = [
  ['by path', 'request.path.startsWith("/v1")'],
  ['by method', 'request.method == "POST"'],
  ['by header', 'request.headers["x-team"] == "blue"'],
  ['by client', 'source.address == "127.0.0.1"'],
]

interface ArmProps {
  readonly expression: string
  readonly setExpression: (expression: string) => void
  readonly watch: Watch
  readonly arm: (pace: Pace) => void
  readonly stop: () => void
  readonly load: (file: File) => void
}

export function TraceArm(props: ArmProps): VNode {
  const { expression, setExpression, watch, arm, stop, load } = props
  const pace = useHeld(TRACER.pace)
  const isBusy = watch.state !== 'idle' && watch.state !== 'failed'
  const submit = (event: Event): void => {
    event.preventDefault()
    arm(pace)
  }
  const end = (event: Event): void => {
    // The same button is one that submits by the time the click is over.
    event.preventDefault()
    stop()
  }
  return html`
    <section class="card trace-arm" aria-label="Trace a request">
      <form onSubmit=${submit}>
        <label for="trace-expression">
          Only a request for which this holds <span class="minor">(CEL; empty for any)</span>
        </label>
        <div class="trace-line">
          <input
            id="trace-expression"
            class="mono"
            value=${expression}
            maxlength=${MOST_LETTERS}
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
          pace=${pace}
          setPace=${(next: Pace) => TRACER.pace.set(next)}
          isBusy=${isBusy}
          load=${load}
        />
      </form>
      <${WatchWords} watch=${watch} expression=${expression} />
    </section>
  `
}

interface MoreProps {
  readonly setExpression: (expression: string) => void
  readonly pace: Pace
  readonly setPace: (pace: Pace) => void
  readonly isBusy: boolean
  readonly load: (file: File) => void
}

/** Examples, and how else a trace comes about. */
function More(props: MoreProps): VNode {
  const { setExpression, pace, setPace, isBusy, load } = props
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
          checked=${pace !== 'once'}
          disabled=${isBusy}
          onChange=${(event: Event) =>
            setPace((event.target as HTMLInputElement).checked ? 'again and again' : 'once')}
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
    // The same file may be chosen once more.
    if (input.current !== null) input.current.value = ''
  }
  return html`
    <span>
      <input
        class="unseen"
        type="file"
        id="trace-file"
        tabindex="-1"
        aria-label="A trace as a file of JSON lines"
        accept=".jsonl,.json,.txt,.log"
        ref=${input}
        onChange=${chosen}
      />
      <button type="button" onClick=${() => input.current?.click()}>Open a file…</button>
    </span>
  `
}

function WatchWords(props: { readonly watch: Watch; readonly expression: string }): VNode {
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
      ${watch.state === 'opening' && html`<p class="wait">Asking the gateway to watch…</p>`}
      ${
        isWaiting &&
        html`<p class="wait">
          <span class="pulse" aria-hidden="true"></span>
          Waiting for a request${expression.trim() === '' ? '' : ' that fits'}…
          <span class="dim" aria-hidden="true">
            ${Math.max(0, Math.floor((now - watch.since) / 1_000))} s
          </span>
        </p>`
      }
      ${isWaiting && html`<${SendOne} expression=${expression} />`}
      ${
        watch.state === 'running' &&
        html`<p class="wait">
          <span class="pulse" aria-hidden="true"></span>A request is on its way…
        </p>`
      }
      ${watch.state === 'failed' && html`<p id="trace-error" class="note bad">${watch.error}</p>`}
    </div>
  `
}

/** For whoever has no client at hand. */
function SendOne(props: { readonly expression: string }): VNode | null {
  const [runtime] = useLoaded<RuntimeView>(RUNTIME)
  if (runtime.state !== 'ready') return null
  const listener = runtime.value.listeners.find(({ state }) => state === 'open')
  if (listener === undefined) return null
  const line = curlLike(curlFor(listener, location.hostname), props.expression)
  if (line === null) return null
  return html`
    <p class="row">
      <span class="dim">Send one:</span>
      <code class="command">${line}</code>
      <${Copy} text=${line} />
    </p>
  `
}
