// What a server says beside its answers.

import { html } from '../view.ts'
import type { VNode } from '../view.ts'
import type { McpClient } from './client.ts'
import type { Said } from './desk.ts'
import { Badge } from '../parts/badge.ts'
import type { Tone } from '../parts/badge.ts'
import { clockText } from '../parts/words.ts'

const MAX_LETTERS = 1_000
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

const TONES: Readonly<Record<string, Tone>> = {
  warning: 'warn',
  error: 'bad',
  critical: 'bad',
  alert: 'bad',
  emergency: 'bad',
}

export function ServerLog(props: {
  readonly said: readonly Said[]
  readonly clear: () => void
  readonly client: McpClient
  /** Whether the server lets one choose how much it says. */
  readonly levels: 'fixed' | 'chosen'
}): VNode {
  const { said, clear, client, levels } = props
  const choose = (event: Event): void => {
    const { value: level } = event.target as HTMLSelectElement
    client.request('logging/setLevel', { level }).catch(() => {})
  }
  return html`
    <details class="server-log">
      <summary>Messages of the server <span class="count">${said.length}</span></summary>
      <div class="row">
        ${
          levels === 'chosen' &&
          html`
            <label>
              Level
              <select onChange=${choose}>
                <option value="">as it is</option>
                ${LEVELS.map((level) => html`<option key=${level} value=${level}>${level}</option>`)}
              </select>
            </label>
          `
        }
        <button type="button" disabled=${said.length === 0} onClick=${clear}>Clear</button>
      </div>
      <div role="log" aria-label="Messages of the server" tabindex="0">
        ${said.map(
          ({ number, at, level, source, data }) => html`
            <div class="said-line" key=${number}>
              <span class="dim">${clockText(at)}</span>
              <${Badge} tone=${TONES[level] ?? 'plain'}>${level}<//>
              <span>${source}</span>
              <span class="data-text">${shown(data)}</span>
            </div>
          `,
        )}
        ${said.length === 0 && html`<p class="dim">nothing yet</p>`}
      </div>
    </details>
  `
}

function shown(data: unknown): string {
  const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
  return text.length > MAX_LETTERS ? `${text.slice(0, MAX_LETTERS)}…` : text
}
