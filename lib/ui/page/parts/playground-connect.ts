// How the playground shows who it is, and whether it is connected.

import { html, useEffect, useRef, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import type { McpBackendView, OAuthFinished, Place } from '../../api.ts'
import { Refused } from '../api.ts'
import { redirectUri, signIn } from '../sign-in.ts'
import type { Playground } from '../use-playground.ts'
import { Badge } from './badge.ts'
import { Copy } from './copy.ts'
import { clockText } from './words.ts'

export interface Token {
  readonly text: string
  /** Null when nobody said. */
  readonly until: number | null
}

interface Props {
  readonly backend: McpBackendView
  readonly place: Place
  readonly playground: Playground
  readonly token: Token
  readonly setToken: (token: Token) => void
}

export const NO_TOKEN: Token = { text: '', until: null }

/** The provider registers nobody, or not us. */
const CLIENT_WANTED = 422

export function Connect(props: Props): VNode {
  const { backend, place, playground, token, setToken } = props
  const { link, connect, disconnect } = playground
  const canSignIn = backend.authentication !== null && place === 'admin'
  const [way, setWay] = useState<'none' | 'paste' | 'sign in'>(canSignIn ? 'sign in' : 'none')
  if (link.state === 'open') return html`<${Connected} ...${props} disconnect=${disconnect} />`
  const ways = [
    ['none', 'No token'],
    ...(canSignIn ? [['sign in', 'Sign in']] : []),
    ['paste', 'Paste a token'],
  ] as const
  const choose = (next: string): void => {
    setWay(next as typeof way)
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
      <fieldset class="segments">
        <legend class="unseen">Credential</legend>
        ${ways.map(
          ([value, label]) => html`
            <label key=${value} class=${way === value ? 'chosen' : ''}>
              <input
                type="radio"
                name="credential"
                checked=${way === value}
                onChange=${() => choose(value)}
              />
              ${label}
            </label>
          `,
        )}
      </fieldset>
      ${
        way === 'paste' &&
        html`
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
  const { playground, token, disconnect } = props
  const { link } = playground
  if (link.state !== 'open') return html`<span></span>`
  const { greeting, client } = link
  return html`
    <div class="connect connected">
      <${Badge} tone="good">connected<//>
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

/** Never more of it than tells one from another. */
function endOf({ text, until }: Token): string {
  const end = text.length > 12 ? `…${text.slice(-4)}` : 'given'
  return until === null ? end : `${end}, until ${clockText(until)}`
}

function SignIn({ backend, token, setToken, playground }: Props): VNode {
  const [state, setState] = useState<'idle' | 'waiting'>('idle')
  const [fault, setFault] = useState<{ words: string; wantsClient: boolean } | null>(null)
  const [url, setUrl] = useState('')
  const [clientId, setClientId] = useState('')
  const controller = useRef<AbortController | null>(null)
  useEffect(() => () => controller.current?.abort(), [])
  const host = new URL(backend.authentication?.issuer ?? 'http://nobody').host
  const taken = ({ accessToken, expiresIn }: OAuthFinished): void => {
    setToken({
      text: accessToken,
      until: expiresIn === null ? null : Date.now() + expiresIn * 1_000,
    })
    playground.connect(accessToken)
  }
  const begin = (): void => {
    const own = new AbortController()
    controller.current = own
    setState('waiting')
    setFault(null)
    setUrl('')
    const { signal } = own
    signIn({ backend: backend.key, clientId, signal, opened: setUrl })
      .then(taken, (error: unknown) => {
        if (signal.aborted) return
        const wantsClient = error instanceof Refused && error.status === CLIENT_WANTED
        setFault({ words: error instanceof Error ? error.message : String(error), wantsClient })
      })
      .finally(() => setState('idle'))
  }
  return html`
    ${token.text !== '' && html`<span class="dim">signed in, token ${endOf(token)}</span>`}
    ${
      (fault?.wantsClient === true || clientId !== '') &&
      html`
        <label class="client">
          Client id
          <input
            type="text"
            class="mono"
            autocomplete="off"
            value=${clientId}
            onInput=${(event: Event) => setClientId((event.target as HTMLInputElement).value.trim())}
          />
        </label>
      `
    }
    ${
      state === 'idle'
        ? html`
            <button type="button" class=${token.text === '' ? 'main' : ''} onClick=${begin}>
              ${token.text === '' ? `Sign in at ${host}` : 'Sign in again'}
            </button>
          `
        : html`
            <span class="dim" role="status">Waiting for ${host}…</span>
            ${url !== '' && html`<a href=${url} target="_blank" rel="noopener">no window? open it here</a>`}
            <button type="button" onClick=${() => controller.current?.abort()}>Give up</button>
          `
    }
    ${
      fault !== null &&
      html`
        <div class="note bad" role="alert">
          <p>${fault.words}</p>
          ${
            fault.wantsClient &&
            html`
              <p>
                Give the id of a public client (no secret, PKCE) that is registered there with this
                redirect URI: <code>${redirectUri()}</code> <${Copy} text=${redirectUri()} />
              </p>
            `
          }
        </div>
      `
    }
  `
}
