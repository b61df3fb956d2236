// Serves the OAuth paths of a protected MCP route, which need no token: metadata documents, client registration and, for
// providers that need it, proxied authorize and token endpoints.

import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import type { Exchange } from '../../core/exchange.ts'
import { buildReply } from '../../core/replies.ts'
import type { Reply, Verdict } from '../../core/types.ts'
import type { IdentityStore } from '../auth/identity.ts'
import { MetadataCheck } from './discovery.ts'
import { parseOAuthPath, registrationUrl, resourceLocationOf, serverUrls } from './public-urls.ts'
import type {
  MetadataForm,
  OAuthPath,
  OAuthPathKind,
  RootMetadataOwnership,
} from './public-urls.ts'
import {
  allowAnyOrigin,
  createMethodNotAllowedReply,
  createOAuthErrorReply,
  createProviderFailedReply,
  createProviderUnusableReply,
  createJsonReply,
  ProviderCalls,
} from './provider-requests.ts'
import { selectIdentityProvider } from './providers.ts'
import { createClientReply, registerClient } from './registration.ts'
import { buildResourceMetadata, buildServerMetadata } from './metadata.ts'
import { redirectToAuthorize, relayTokenRequest } from './tenant-endpoints.ts'
import type { ProviderEndpoints, IdentityProvider } from './providers.ts'

const READ_METHODS = 'GET, HEAD'
const WRITE_METHODS = 'POST'

const METHODS: Readonly<Record<OAuthPathKind, string>> = {
  resource: READ_METHODS,
  server: READ_METHODS,
  registration: WRITE_METHODS,
  client: READ_METHODS,
  authorize: READ_METHODS,
  token: WRITE_METHODS,
  unknown: READ_METHODS,
}

/** The status of replies for a provider that failed or whose metadata cannot be used. */
const PROVIDER_FAILED = 502

export class OAuthPathHandler {
  readonly #config: McpAuthenticationConfig
  readonly #identity: IdentityStore
  readonly #roots: RootMetadataOwnership
  readonly #resourcePath: string
  readonly #provider: IdentityProvider
  readonly #endpoints: ProviderEndpoints | null
  readonly #calls: ProviderCalls
  readonly #check: MetadataCheck

  constructor(
    config: McpAuthenticationConfig,
    identity: IdentityStore,
    roots: RootMetadataOwnership,
  ) {
    this.#config = config
    this.#identity = identity
    this.#roots = roots
    this.#resourcePath = resourceLocationOf(config).path
    this.#provider = selectIdentityProvider(config)
    this.#endpoints = this.#provider.endpoints(config.issuer)
    this.#calls = new ProviderCalls(identity)
    this.#check = new MetadataCheck(config, this.#provider, identity.log)
  }

  /** Returns undefined when the request is for none of these paths. */
  answer(exchange: Exchange): Verdict {
    const { path, method } = exchange.request
    if (!path.includes('/.well-known/')) return undefined
    const oauthPath = parseOAuthPath(path, this.#resourcePath)
    if (oauthPath === null) return undefined
    const methods = METHODS[oauthPath.kind]
    const reply = this.#replyTo(exchange, oauthPath, method)
    if (reply instanceof Promise)
      return reply.then((settled) => {
        if (settled.head.status === PROVIDER_FAILED)
          exchange.enforcement.refusalReason = 'provider_unavailable'
        return allowAnyOrigin(exchange, settled, methods)
      })
    return allowAnyOrigin(exchange, reply, methods)
  }

  #replyTo(exchange: Exchange, { kind, form }: OAuthPath, method: string): Reply | Promise<Reply> {
    const methods = METHODS[kind]
    if (kind === 'unknown' || this.#isAmbiguous(kind, form)) return createNotFoundReply()
    if (method === 'OPTIONS') return buildReply(204, [['access-control-max-age', '86400']])
    if (!methods.split(', ').includes(method)) return createMethodNotAllowedReply(methods)
    switch (kind) {
      case 'resource':
        return createJsonReply(200, buildResourceMetadata(this.#config))
      case 'server':
        return this.#serveServerMetadata(form)
      case 'registration':
        return registerClient(exchange, this.#config, {
          provider: this.#provider,
          documents: this.#identity.documents,
          calls: this.#calls,
          url: this.#registrationUrl,
        })
      case 'client':
        return (
          createClientReply(exchange.request.path, this.#config, this.#registrationUrl) ??
          createNotFoundReply()
        )
      case 'authorize':
        return this.#endpoints === null
          ? createNotFoundReply()
          : redirectToAuthorize(exchange, this.#endpoints.authorize)
      case 'token': {
        if (this.#endpoints === null) return createNotFoundReply()
        return relayTokenRequest(exchange, this.#endpoints.token, this.#config, this.#calls)
      }
    }
  }

  /** Returns whether a document at the host root could also belong to another resource. */
  #isAmbiguous(kind: OAuthPathKind, form: MetadataForm): boolean {
    const { resource, server } = this.#roots
    return form === 'bare' && (kind === 'resource' ? resource : server) === 'ambiguous'
  }

  get #registrationUrl(): string {
    return registrationUrl(this.#config, this.#roots)
  }

  async #serveServerMetadata(form: MetadataForm): Promise<Reply> {
    const urls = this.#provider.discoveryUrls(this.#config.issuer)
    const fetched = await this.#identity.documents.findFirst(urls)
    if (typeof fetched === 'string') return createProviderFailedReply(fetched)
    const gatewayUrls = serverUrls(this.#config, form, this.#roots)
    const document = buildServerMetadata(this.#config, this.#provider, fetched, gatewayUrls)
    const fault = this.#check.check(fetched, document)
    return fault === null ? createJsonReply(200, document) : createProviderUnusableReply(fault)
  }
}

function createNotFoundReply(): Reply {
  return createOAuthErrorReply(404, 'not_found', 'no OAuth endpoint at this path')
}
