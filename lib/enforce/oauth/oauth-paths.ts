// The paths of a protected MCP route that need no token: its documents, registration, and where the gateway stands
// between client and provider, authorize and token (reference.md §2.4, components of real clients' discovery).

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import type { Exchange } from '../../base/exchange.ts'
import type { Reply, Verdict } from '../../base/types.ts'
import type { Identity } from '../identity.ts'
import { OPENID, REGISTRATION, RESOURCE, SERVER } from './own-urls.ts'
import { providerOf } from './provider-of.ts'
import { register } from './registration.ts'
import { downReply, jsonReply, methodReply, preflightReply } from './replies.ts'
import { resourceMetadata } from './resource-metadata.ts'
import { serverMetadata } from './server-metadata.ts'
import type { Form } from './server-metadata.ts'
import { authorize, token } from './tenant-endpoints.ts'
import type { Endpoints, Provider } from './types.ts'

type Kind = 'resource' | 'server' | 'registration' | 'authorize' | 'token'

const READ = 'GET, OPTIONS'
const WRITE = 'POST, OPTIONS'

export class OAuthPaths {
  readonly #config: McpAuthenticationConfig
  readonly #identity: Identity
  readonly #provider: Provider
  readonly #endpoints: Endpoints | null

  constructor(config: McpAuthenticationConfig, identity: Identity) {
    this.#config = config
    this.#identity = identity
    this.#provider = providerOf(config)
    this.#endpoints = this.#provider.endpoints(config.issuer)
  }

  /** Undefined when the request is for none of them. */
  answer(exchange: Exchange): Verdict {
    const { path, method } = exchange.request
    if (!path.includes('/.well-known/')) return undefined
    const kind = this.#kindOf(path)
    if (kind === null) return undefined
    const isRead = kind === 'resource' || kind === 'server' || kind === 'authorize'
    if (method === 'OPTIONS') return preflightReply(isRead ? READ : WRITE)
    if (isRead && method !== 'GET' && method !== 'HEAD') return methodReply(READ)
    switch (kind) {
      case 'resource':
        return jsonReply(200, resourceMetadata(this.#config))
      case 'server':
        return this.#server(path)
      case 'registration':
        return register(exchange, this.#config, this.#provider, this.#identity)
      case 'authorize':
        return authorize(exchange, this.#endpoints!.authorize)
      case 'token':
        return token(exchange, this.#endpoints!.token, this.#config, this.#identity.fetch)
    }
  }

  #kindOf(path: string): Kind | null {
    if (path === RESOURCE || path.startsWith(`${RESOURCE}/`)) return 'resource'
    if (path === SERVER || path.startsWith(`${SERVER}/`)) {
      if (path.endsWith(REGISTRATION)) return 'registration'
      if (this.#endpoints !== null && path.endsWith('/authorize')) return 'authorize'
      if (this.#endpoints !== null && path.endsWith('/token')) return 'token'
      return 'server'
    }
    const isOpenId = path === OPENID || path.startsWith(`${OPENID}/`)
    // Older clients append the well-known part instead of putting it in front.
    const isAppended = path.endsWith(SERVER) || path.endsWith(OPENID)
    return isOpenId || isAppended ? 'server' : null
  }

  async #server(path: string): Promise<Reply> {
    const found = await this.#identity.documents.first(
      this.#provider.discoveryUrls(this.#config.issuer),
    )
    if (typeof found === 'string') return downReply(found)
    const form: Form = path === SERVER || path === OPENID ? 'bare' : 'resource'
    return jsonReply(200, serverMetadata(this.#config, this.#provider, found, form))
  }
}
