// The playground of one MCP backend: connect, choose a tool, prompt or resource, and see what the server sends.

import type { McpBackendView, UiInterface } from '../../admin/page-api/page-api-types.ts'
import { html, useEffect, useMemo, useRef, useState } from '../page-view.ts'
import type { VNode } from '../page-view.ts'
import { ownUrl } from '../server-data.ts'
import type { LinkState } from '../server-data.ts'
import { useObservable } from '../observable.ts'
import { Badge, Empty } from '../parts/elements.ts'
import type { Tone } from '../parts/elements.ts'
import { clockText } from '../parts/number-text.ts'
import type { McpClient, SendHttp } from './mcp-client.ts'
import { isSame, Items } from './offer.ts'
import type { Item, Offer } from './offer.ts'
import { maskToken, NO_TOKEN, PlaygroundSession } from './playground-session.ts'
import type { Connection, ServerMessage, Token } from './playground-session.ts'
import { ItemView } from './item-view.ts'
import { SignIn } from './sign-in.ts'

interface Props {
  readonly backend: McpBackendView
  readonly place: UiInterface
  /** Whether the page is connected to the gateway. */
  readonly gateway: LinkState
}

/** More than the gateway lists at once. */
const MAX_SESSIONS = 200

/** The sessions of this tab, by backend. They last while other pages are shown. */
const SESSIONS = new Map<string, PlaygroundSession>()

function sessionOf(backend: string): PlaygroundSession {
  const known = SESSIONS.get(backend)
  if (known !== undefined) return known
  const session = new PlaygroundSession()
  SESSIONS.set(backend, session)
  const [oldest] = SESSIONS.keys()
  if (SESSIONS.size > MAX_SESSIONS && oldest !== undefined) {
    SESSIONS.get(oldest)?.disconnect()
    SESSIONS.delete(oldest)
  }
  return session
}

addEventListener('pagehide', () => {
  for (const session of SESSIONS.values()) session.disconnect()
})

export function PlaygroundView(props: Props): VNode {
  const { backend, place } = props
  if (place === 'listener' && !isSameListener(backend))
    return html`
      <${Empty} title="The playground is not available here">
        <p>
          This page and this backend are on different listeners. Open the page on the admin
          interface of the gateway to use the playground.
        </p>
      <//>
    `
  return html`<${Session} ...${props} />`
}

function Session({ backend, place, gateway }: Props): VNode {
  const send = useMemo(() => sendTo(backend, place), [backend.key, backend.path, place])
  const session = useMemo(() => sessionOf(backend.key), [backend.key])
  const playground = usePlayground(session, send)
  const token = useObservable(session.token)
  const { connection, offer } = playground
  const section = useFocusAfter(connection)
  return html`
    <section class="playground card" aria-label="Playground" ref=${section}>
      <${Connect}
        backend=${backend}
        place=${place}
        playground=${playground}
        token=${token}
        setToken=${(next: Token) => session.token.set(next)}
        gateway=${gateway}
      />
      ${
        connection.state === 'off' &&
        html`
          <p class="about">
            Opens a session like any other MCP client; each stdio target starts its own process.
            Policies, logs and traces apply to it as to any client.
            ${
              place === 'listener' &&
              backend.authentication !== null &&
              ' To sign in, open the page on the admin interface; here you can paste a token.'
            }
          </p>
        `
      }
      ${
        connection.state === 'open' &&
        (offer === null
          ? html`<p class="about" role="status">Loading tools, prompts and resources…</p>`
          : html`
              <${Workspace}
                backend=${backend}
                session=${session}
                connection=${connection}
                offer=${offer}
                authorization=${token.text === '' ? 'none' : 'token'}
              />
              <${ServerLog}
                messages=${playground.messages}
                clear=${playground.clear}
                client=${connection.client}
                levels=${connection.server.capabilities['logging'] === undefined ? 'fixed' : 'chosen'}
              />
            `)
      }
    </section>
  `
}

/** The Disconnect button had the focus and is gone: moves the focus to Connect. */
function useFocusAfter({ state }: Connection): { readonly current: HTMLElement | null } {
  const section = useRef<HTMLElement>(null)
  const before = useRef(state)
  useEffect(() => {
    if (before.current === 'open' && state === 'off')
      section.current?.querySelector<HTMLElement>('.connect .main')?.focus()
    before.current = state
  }, [state])
  return section
}

/** The list on the left, the selected item on the right. */
function Workspace(props: {
  readonly backend: McpBackendView
  readonly session: PlaygroundSession
  readonly connection: Extract<Connection, { state: 'open' }>
  readonly offer: Offer
  readonly authorization: 'token' | 'none'
}): VNode {
  const { backend, session, connection, offer, authorization } = props
  const selected = useObservable(session.selected)
  const read = (uri: string): void =>
    session
      .select({ kind: 'resource', uri, name: uri, title: '', description: '', type: '' })
      ?.run({})
  const all: readonly Item[] = [...offer.tools, ...offer.prompts, ...offer.resources]
  // The server may have changed the item since it was selected.
  const current =
    selected === null ? null : (all.find((one) => isSame(one, selected.item)) ?? selected.item)
  return html`
    <div class="bench">
      <${Items} session=${session} offer=${offer} chosen=${current} />
      ${
        selected === null || current === null
          ? html`<p class="dim hollow">Select a tool, a prompt or a resource.</p>`
          : html`
              <${ItemView}
                key=${selected.number}
                item=${current}
                selected=${selected}
                client=${connection.client}
                backend=${backend}
                authorization=${authorization}
                read=${read}
              />
            `
      }
    </div>
  `
}

/** By the relay of the admin interface, or directly on the backend's own listener. */
function sendTo({ key, path }: McpBackendView, place: UiInterface): SendHttp {
  const query = new URLSearchParams({ backend: key, path })
  const url = place === 'admin' ? `/api/playground?${query.toString()}` : path
  return (method, { headers, body, signal }) =>
    fetch(ownUrl(url), {
      method,
      headers,
      cache: 'no-store',
      redirect: 'error',
      // Ends the session also when the page is closed.
      keepalive: method === 'DELETE',
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    })
}

function isSameListener({ port, protocol, hostname }: McpBackendView): boolean {
  const usual = location.protocol === 'https:' ? 443 : 80
  const isSamePort = (Number(location.port) || usual) === port
  const isSameScheme = location.protocol === `${protocol.toLowerCase()}:`
  return isSamePort && isSameScheme && (hostname === '' || hostname === location.hostname)
}

export interface Playground {
  readonly connection: Connection
  readonly offer: Offer | null
  readonly messages: readonly ServerMessage[]
  readonly connect: (token: string) => void
  readonly disconnect: () => void
  readonly clear: () => void
}

function usePlayground(session: PlaygroundSession, send: SendHttp): Playground {
  const [connection, offer, messages] = [
    useObservable(session.connection),
    useObservable(session.offer),
    useObservable(session.messages),
  ]
  const acts = useMemo(
    () => ({
      connect: (token: string) => session.connect(send, token),
      disconnect: () => session.disconnect(),
      clear: () => session.clearMessages(),
    }),
    [session, send],
  )
  return { connection, offer, messages, ...acts }
}

interface ConnectProps {
  readonly backend: McpBackendView
  readonly place: UiInterface
  readonly playground: Playground
  readonly token: Token
  readonly setToken: (token: Token) => void
  /** Whether the page is connected to the gateway. */
  readonly gateway: LinkState
}

type Credential = 'none' | 'sign in' | 'paste'

const CREDENTIALS: readonly (readonly [credential: Credential, label: string])[] = [
  ['none', 'No token'],
  ['sign in', 'Sign in'],
  ['paste', 'Paste a token'],
]

function Connect(props: ConnectProps): VNode {
  const { backend, place, playground, token, setToken } = props
  const { connection, connect, disconnect } = playground
  const canSignIn = backend.authentication !== null && place === 'admin'
  const usual = backend.authentication === null ? 'none' : 'paste'
  const [way, setWay] = useState<Credential>(canSignIn ? 'sign in' : usual)
  if (connection.state === 'open')
    return html`<${Connected} ...${props} disconnect=${disconnect} />`
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
      <${CredentialChoice} chosen=${way} canSignIn=${canSignIn} choose=${choose} />
      ${way === 'paste' && html`<${Paste} ...${props} />`}
      ${way === 'sign in' && html`<${SignIn} ...${props} />`}
      ${
        (way !== 'sign in' || token.text !== '') &&
        html`
          <button type="submit" class="main" disabled=${connection.state === 'connecting'}>
            ${connection.state === 'connecting' ? 'Connecting…' : 'Connect'}
          </button>
        `
      }
      ${
        connection.state === 'connecting' &&
        html`<button type="button" onClick=${disconnect}>Cancel</button>`
      }
    </form>
    ${connection.state === 'failed' && html`<${Refusal} ...${props} error=${connection.error} status=${connection.status} />`}
  `
}

function CredentialChoice(props: {
  readonly chosen: Credential
  readonly canSignIn: boolean
  readonly choose: (way: Credential) => void
}): VNode {
  const { chosen, canSignIn, choose } = props
  return html`
    <fieldset class="segments">
      <legend class="unseen">Credential</legend>
      ${CREDENTIALS.filter(([way]) => canSignIn || way !== 'sign in').map(
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

function Paste({ token, setToken }: ConnectProps): VNode {
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
          setToken({ text: (event.target as HTMLInputElement).value.trim(), expiresAt: null })}
      />
    </label>
  `
}

function Refusal(props: ConnectProps & { readonly error: string; readonly status: number }): VNode {
  const { error, status, token, backend } = props
  return html`
    <div class="note bad" role="alert">
      <p><strong>${titleOf(status, token)}</strong></p>
      <p class="mono">${status === 0 ? '' : `${status}: `}${error}</p>
      ${
        status === 401 &&
        backend.authentication === null &&
        html`<p>A policy of the route requires a credential: paste a token.</p>`
      }
    </div>
  `
}

function titleOf(status: number, { text }: Token): string {
  if (status === 401) return text === '' ? 'A token is required.' : 'The token was not accepted.'
  if (status === 403) return 'This token has no access.'
  if (status === 404) return 'No route matches this path.'
  return 'The session could not be opened.'
}

function Connected(props: ConnectProps & { readonly disconnect: () => void }): VNode {
  const { playground, token, disconnect, gateway } = props
  const { connection } = playground
  if (connection.state !== 'open') return html`<span></span>`
  const { server, client } = connection
  return html`
    <div class="connect connected">
      ${
        gateway === 'lost' ? html`<${Badge}>offline<//>` : html`<${Badge} tone="good">connected<//>`
      }
      <strong>${server.name}</strong>
      <span class="dim">${server.version}</span>
      <span class="dim">MCP ${server.protocol}</span>
      ${client.session !== '' && html`<code class="dim">session ${client.session.slice(0, 8)}</code>`}
      ${token.text !== '' && html`<span class="dim">token ${maskToken(token)}</span>`}
      <button type="button" class="last" onClick=${disconnect}>Disconnect</button>
    </div>
    ${
      server.instructions !== '' &&
      html`
        <details class="instructions">
          <summary>Server instructions</summary>
          <pre class="wrapped">${server.instructions}</pre>
        </details>
      `
    }
  `
}

const MAX_MESSAGE_LENGTH = 1_000
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

const TONES: Readonly<Record<string, Tone>> = {
  warning: 'warn',
  error: 'bad',
  critical: 'bad',
  alert: 'bad',
  emergency: 'bad',
}

function ServerLog(props: {
  readonly messages: readonly ServerMessage[]
  readonly clear: () => void
  readonly client: McpClient
  /** Whether the server supports a choice of the log level. */
  readonly levels: 'fixed' | 'chosen'
}): VNode {
  const { messages, clear, client, levels } = props
  const choose = (event: Event): void => {
    const { value: level } = event.target as HTMLSelectElement
    client.request('logging/setLevel', { level }).catch(() => {})
  }
  return html`
    <details class="server-log">
      <summary>Server messages <span class="count">${messages.length}</span></summary>
      <div class="row">
        ${
          levels === 'chosen' &&
          html`
            <label>
              Level
              <select onChange=${choose}>
                <option value="">unchanged</option>
                ${LEVELS.map((level) => html`<option key=${level} value=${level}>${level}</option>`)}
              </select>
            </label>
          `
        }
        <button type="button" disabled=${messages.length === 0} onClick=${clear}>Clear</button>
      </div>
      <div role="log" aria-label="Server messages" tabindex="0">
        ${messages.map(
          ({ number, at, level, source, data }) => html`
            <div class="server-message" key=${number}>
              <span class="dim">${clockText(at)}</span>
              <${Badge} tone=${TONES[level] ?? 'plain'}>${level}<//>
              <span>${source}</span>
              <span class="data-text">${messageText(data)}</span>
            </div>
          `,
        )}
        ${messages.length === 0 && html`<p class="dim">no data yet</p>`}
      </div>
    </details>
  `
}

function messageText(data: unknown): string {
  const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
  return text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH)}…` : text
}
