// The paths of a protected MCP route that need no token: its documents, registration, and where the gateway stands
// between client and provider, authorize and token.

import type { McpAuthenticationConfig } from '../../base/config/auth-types.ts'
import type { Exchange } from '../../base/exchange.ts'
import { replyOf } from '../../base/reply.ts'
import type { Reply, Verdict } from '../../base/types.ts'
import type { Identity } from '../identity.ts'
import { MetadataCheck } from './metadata-check.ts'
import { ownOf, registrationUrl, serverUrls } from './own-urls.ts'
import { placeOf } from './place-of.ts'
import type { Form, Kind, Place } from './place-of.ts'
import { ProviderCalls } from './provider-calls.ts'
import { providerOf } from './provider-of.ts'
import { clientReply, register } from './registration.ts'
import { downReply, errorReply, jsonReply, methodReply, shared, unusableReply } from './replies.ts'
import { resourceMetadata } from './resource-metadata.ts'
import type { RootForms } from './root-forms.ts'
import { serverMetadata } from './server-metadata.ts'
import { authorize, token } from './tenant-endpoints.ts'
import type { Endpoints, Provider } from './types.ts'

const READ = 'GET, HEAD'
const WRITE = 'POST'

const METHODS: Readonly<Record<Kind, string>> = {
  resource: READ,
  server: READ,
  registration: WRITE,
  client: READ,
  authorize: READ,
  token: WRITE,
  unknown: READ,
}

export class OAuthPaths {
  readonly #config: McpAuthenticationConfig
  readonly #identity: Identity
  readonly #roots: RootForms
  readonly #own: string
  readonly #provider: Provider
  readonly #endpoints: Endpoints | null
  readonly #calls: ProviderCalls
  readonly #check: MetadataCheck

  constructor(config: McpAuthenticationConfig, identity: Identity, roots: RootForms) {
    this.#config = config
    this.#identity = identity
    this.#roots = roots
    this.#own = ownOf(config).path
    this.#provider = providerOf(config)
    this.#endpoints = this.#provider.endpoints(config.issuer)
    this.#calls = new ProviderCalls(identity)
    this.#check = new MetadataCheck(config, this.#provider, identity.log)
  }

  /** Undefined when the request is for none of them. */
  answer(exchange: Exchange): Verdict {
    const { path, method } = exchange.request
    if (!path.includes('/.well-known/')) return undefined
    const place = placeOf(path, this.#own)
    if (place === null) return undefined
    const methods = METHODS[place.kind]
    const reply = this.#replyTo(exchange, place, method)
    if (reply instanceof Promise) return reply.then((one) => shared(exchange, one, methods))
    return shared(exchange, reply, methods)
  }

  #replyTo(exchange: Exchange, { kind, form }: Place, method: string): Reply | Promise<Reply> {
    const methods = METHODS[kind]
    if (kind === 'unknown' || this.#isAmbiguous(kind, form)) return notFound()
    if (method === 'OPTIONS') return replyOf(204, [['access-control-max-age', '86400']])
    if (!methods.split(', ').includes(method)) return methodReply(methods)
    switch (kind) {
      case 'resource':
        return jsonReply(200, resourceMetadata(this.#config))
      case 'server':
        return this.#server(form)
      case 'registration':
        return register(exchange, this.#config, {
          provider: this.#provider,
          documents: this.#identity.documents,
          calls: this.#calls,
          url: this.#registration,
        })
      case 'client':
        return clientReply(exchange.request.path, this.#config, this.#registration) ?? notFound()
      case 'authorize':
        return this.#endpoints === null
          ? notFound()
          : authorize(exchange, this.#endpoints.authorize)
      case 'token': {
        if (this.#endpoints === null) return notFound()
        return token(exchange, this.#endpoints.token, this.#config, this.#calls)
      }
    }
  }

  /** What is at the host's root could as well be somebody else's. */
  #isAmbiguous(kind: Kind, form: Form): boolean {
    const { resource, server } = this.#roots
    return form === 'bare' && (kind === 'resource' ? resource : server) === 'ambiguous'
  }

  get #registration(): string {
    return registrationUrl(this.#config, this.#roots)
  }

  async #server(form: Form): Promise<Reply> {
    const urls = this.#provider.discoveryUrls(this.#config.issuer)
    const found = await this.#identity.documents.first(urls)
    if (typeof found === 'string') return downReply(found)
    const own = serverUrls(this.#config, form, this.#roots)
    const document = serverMetadata(this.#config, this.#provider, found, own)
    const fault = this.#check.look(found, document)
    return fault === null ? jsonReply(200, document) : unusableReply(fault)
  }
}

function notFound(): Reply {
  return errorReply(404, 'not_found', 'nothing is served here')
}
