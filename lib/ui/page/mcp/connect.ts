// How the playground shows who it is, and whether it is connected.

import { html, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import type { McpBackendView, UiPlace } from '../../../admin/page-api/page-api-types.ts'
import { endOf, NO_TOKEN } from './token.ts'
import type { Token } from './token.ts'
import type { LinkState } from '../live.ts'
import type { Playground } from './use-playground.ts'
import { Badge } from '../parts/badge.ts'
import { SignIn } from './sign-in.ts'

interface Props {
  readonly backend: McpBackendView
  readonly place: UiPlace
  readonly playground: Playground
  readonly token: Token
  readonly setToken: (token: Token) => void
  /** Whether the gateway itself is there. */
  readonly gateway: LinkState
}

type Credential = 'none' | 'sign in' | 'paste'

const WAYS: readonly (readonly [way: Credential, label: string])[] = [
  ['none', 'No token'],
  ['sign in', 'Sign in'],
  ['paste', 'Paste a token'],
]

export function Connect(props: Props): VNode {
  const { backend, place, playground, token, setToken } = props
  const { link, connect, disconnect } = playground
  const canSignIn = backend.authentication !== null && place === 'admin'
  const usual = backend.authentication === null ? 'none' : 'paste'
  const [way, setWay] = useState<Credential>(canSignIn ? 'sign in' : usual)
  if (link.state === 'open') return html`<${Connected} ...${props} disconnect=${disconnect} />`
  const choose = (next: Credential): void => {
    setWay(next)
    setToken(NO_TOKEN)
  }
  return html`
    <form
      class="connect"
      onSubmit=${(event: Event) => {
        event.preventDefault()
        connect(token.text)
      }}
    >
      <${Ways} chosen=${way} canSignIn=${canSignIn} choose=${choose} />
      ${way === 'paste' && html`<${Paste} ...${props} />`}
      ${way === 'sign in' && html`<${SignIn} ...${props} />`}
      ${
        (way !== 'sign in' || token.text !== '') &&
        html`
          <button type="submit" class="main" disabled=${link.state === 'connecting'}>
            ${link.state === 'connecting' ? 'Connecting…' : 'Connect'}
          </button>
        `
      }
      ${
        link.state === 'connecting' &&
        html`<button type="button" onClick=${disconnect}>Give up</button>`
      }
    </form>
    ${link.state === 'failed' && html`<${Refusal} ...${props} error=${link.error} status=${link.status} />`}
  `
}

function Ways(props: {
  readonly chosen: Credential
  readonly canSignIn: boolean
  readonly choose: (way: Credential) => void
}): VNode {
  const { chosen, canSignIn, choose } = props
  return html`
    <fieldset class="segments">
      <legend class="unseen">Credential</legend>
      ${WAYS.filter(([way]) => canSignIn || way !== 'sign in').map(
        ([way, label]) => html`
          <label key=${way} class=${way === chosen ? 'chosen' : ''}>
            <input
              type="radio"
              name="credential"
              checked=${way === chosen}
              onChange=${() => choose(way)}
            />
            ${label}
          </label>
        `,
      )}
    </fieldset>
  `
}

function Paste({ token, setToken }: Props): VNode {
  return html`
    <label class="grow">
      <span class="unseen">Token</span>
      <input
        type="password"
        class="mono"
        autocomplete="off"
        placeholder="Bearer token, or another scheme with its name"
        value=${token.text}
        onInput=${(event: Event) =>
          setToken({ text: (event.target as HTMLInputElement).value.trim(), until: null })}
      />
    </label>
  `
}

function Refusal(props: Props & { readonly error: string; readonly status: number }): VNode {
  const { error, status, token, backend } = props
  return html`
    <div class="note bad" role="alert">
      <p><strong>${titleOf(status, token)}</strong></p>
      <p class="mono">${status === 0 ? '' : `${status}: `}${error}</p>
      ${
        status === 401 &&
        backend.authentication === null &&
        html`<p>A policy of the route asks for a credential: paste a token.</p>`
      }
    </div>
  `
}

function titleOf(status: number, { text }: Token): string {
  if (status === 401) return text === '' ? 'A token is needed.' : 'The token is not accepted.'
  if (status === 403) return 'This token is not allowed in.'
  if (status === 404) return 'No route leads there.'
  return 'The session could not be begun.'
}

function Connected(props: Props & { readonly disconnect: () => void }): VNode {
  const { playground, token, disconnect, gateway } = props
  const { link } = playground
  if (link.state !== 'open') return html`<span></span>`
  const { greeting, client } = link
  return html`
    <div class="connect connected">
      ${
        gateway === 'lost' ? html`<${Badge}>offline<//>` : html`<${Badge} tone="good">connected<//>`
      }
      <strong>${greeting.name}</strong>
      <span class="dim">${greeting.version}</span>
      <span class="dim">MCP ${greeting.protocol}</span>
      ${client.session !== '' && html`<code class="dim">session ${client.session.slice(0, 8)}</code>`}
      ${token.text !== '' && html`<span class="dim">token ${endOf(token)}</span>`}
      <button type="button" class="last" onClick=${disconnect}>Disconnect</button>
    </div>
    ${
      greeting.instructions !== '' &&
      html`
        <details class="instructions">
          <summary>Instructions of the server</summary>
          <pre class="wrapped">${greeting.instructions}</pre>
        </details>
      `
    }
  `
}
