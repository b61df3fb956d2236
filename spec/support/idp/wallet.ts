// The OAuth state of a client: its registration, its tokens, and the PKCE verifier of the current login. For both SDKs.

import { randomUUID } from 'node:crypto'
import { CALLBACK } from './double.ts'

/** Follows the browser flow from the authorization endpoint to the callback. */
export type Browse = (url: URL) => Promise<URL>

export interface Tokens {
  access_token: string
  token_type: string
  refresh_token?: string | undefined
  id_token?: string | undefined
  expires_in?: number | undefined
  scope?: string | undefined
}

export interface Registration {
  client_id: string
  client_secret?: string | undefined
}

/** The discovery state of the SDKs, which differs between them. */
interface Discovery {
  authorizationServerUrl: string
}

export class Wallet {
  registration: Registration | undefined
  current: Tokens | undefined
  /** Where the browser was sent; `callback` has the parameters it returned with. */
  authorizationUrl: URL | undefined
  callback: URLSearchParams | undefined
  logins = 0
  readonly redirectUrl = CALLBACK
  readonly clientMetadata = {
    client_name: 'judge',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
  readonly #browse: Browse
  #state = ''
  #verifier = ''
  #discovery: Discovery | undefined

  constructor(browse: Browse) {
    this.#browse = browse
  }

  /** The code of the current login; its state was checked before. */
  get code(): string {
    const code = this.callback?.get('code')
    if (code === null || code === undefined)
      throw new Error(`no code in the callback: ${this.callback?.toString()}`)
    return code
  }

  /** The authorization server of the current login; the code must go to the same server. */
  saveDiscoveryState(state: Discovery): void {
    this.#discovery = state
  }

  discoveryState(): Discovery | undefined {
    return this.#discovery
  }

  state(): string {
    this.#state = randomUUID()
    return this.#state
  }

  clientInformation(): Registration | undefined {
    return this.registration
  }

  saveClientInformation(registration: Registration): void {
    this.registration = registration
  }

  tokens(): Tokens | undefined {
    return this.current
  }

  saveTokens(tokens: Tokens): void {
    this.current = tokens
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier
  }

  codeVerifier(): string {
    return this.#verifier
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    this.logins++
    this.authorizationUrl = url
    this.callback = (await this.#browse(url)).searchParams
    if (this.callback.get('state') !== this.#state)
      throw new Error(`the callback has the wrong state ${this.callback.get('state')}`)
  }
}
