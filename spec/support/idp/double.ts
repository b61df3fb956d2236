// The common part of the identity provider doubles, based on oidc-provider: it logs in the current user without a form, and
// with consent. The subclasses add the peculiarities of each provider.

import type { ServerResponse } from 'node:http'
import type { JWTPayload } from 'jose'
import Provider from 'oidc-provider'
import type { Configuration, KoaContextWithOIDC } from 'oidc-provider'
import { Host } from './host.ts'
import type { Request } from './host.ts'
import type { SigningKeys } from './signing-keys.ts'
import { Store } from './store.ts'

/** The redirect URI of the clients; no server listens there. */
export const CALLBACK = 'http://127.0.0.1:9/callback'

const TOKEN_SECONDS = 300

/** The roles of each user, by user name. */
const USERS: Readonly<Record<string, readonly string[]>> = { ada: ['mcp-user'], bob: ['guest'] }

export type Name = 'ada' | 'bob'

export abstract class Double {
  /** The current user of the browser. */
  user: Name = 'ada'
  readonly host: Host
  readonly keys: SigningKeys
  readonly #mount: string
  readonly #store = new Store()
  #provider: Provider | null = null

  protected constructor(keys: SigningKeys, mount: string) {
    this.keys = keys
    this.#mount = mount
    this.host = new Host((request, response) => this.#serve(request, response))
  }

  /** The issuer of its access tokens. */
  abstract get issuer(): string
  abstract get audience(): string
  protected abstract configuration(): Configuration
  /** The claims of its access tokens about a user. */
  protected abstract claims(name: string): JWTPayload

  async up(): Promise<this> {
    await this.host.up()
    this.#provider ??= this.#build()
    return this
  }

  async down(): Promise<void> {
    await this.host.down()
  }

  async rotate(old: 'keep' | 'remove'): Promise<void> {
    await this.keys.rotate(old)
    this.#provider = this.#build()
  }

  /** A token as the provider would issue it, with these claims replaced. */
  async token(given: JWTPayload = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000)
    return this.keys.sign({
      iss: this.issuer,
      aud: this.audience,
      sub: this.user,
      iat: now,
      exp: now + TOKEN_SECONDS,
      ...this.claims(this.user),
      ...given,
    })
  }

  /** The issuer in its metadata and in everything else. */
  protected get ownIssuer(): string {
    return this.issuer
  }

  protected rolesOf(name: string): readonly string[] {
    return USERS[name] ?? []
  }

  /** Answers a request instead of the provider, and returns true; or returns false. */
  protected answers(_request: Request, _response: ServerResponse): boolean {
    return false
  }

  protected adapt(_provider: Provider): void {}

  #build(): Provider {
    const provider = new Provider(this.ownIssuer, {
      ...this.#common(),
      ...this.configuration(),
    })
    this.adapt(provider)
    return provider
  }

  #common(): Configuration {
    return {
      adapter: (kind) => this.#store.of(kind),
      // The key type of oidc-provider requires more members than that of jose has.
      jwks: { keys: this.keys.all as { kty: 'RSA' }[] },
      cookies: { keys: ['spec'] },
      pkce: { required: () => true },
      ttl: {
        AccessToken: TOKEN_SECONDS,
        Grant: 3600,
        IdToken: TOKEN_SECONDS,
        Interaction: 60,
        RefreshToken: 3600,
        Session: 3600,
      },
      findAccount: (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
      interactions: { url: (_ctx, { uid }) => `${this.#mount}/interaction/${uid}` },
      issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
      loadExistingGrant: (ctx) => this.#consent(ctx),
      formats: {
        customizers: {
          jwt: (_ctx, token, made) => {
            // Neither provider sets the type to at+jwt.
            made.header = { typ: 'JWT' }
            Object.assign(made.payload, this.claims('accountId' in token ? token.accountId : ''))
          },
        },
      },
    }
  }

  async #consent({ oidc }: KoaContextWithOIDC) {
    const grant = new oidc.provider.Grant()
    if (oidc.client !== undefined) grant.clientId = oidc.client.clientId
    grant.accountId = this.user
    const scope = oidc.params?.scope
    const scopes = typeof scope === 'string' ? scope : 'openid'
    grant.addOIDCScope(scopes)
    for (const resource of Object.keys(oidc.resourceServers ?? {}))
      grant.addResourceScope(resource, scopes)
    await grant.save()
    return grant
  }

  #serve(request: Request, response: ServerResponse): void {
    if (this.answers(request, response)) return
    if (!request.url.startsWith(this.#mount)) {
      response.writeHead(404).end()
      return
    }
    const provider = this.#provider!
    if (request.url.startsWith(`${this.#mount}/interaction/`)) {
      const login = { accountId: this.user }
      void provider.interactionFinished(request, response, { login, consent: {} })
      return
    }
    // As koa-mount does: the complete URL in `originalUrl`, the part after the mount point in `url`.
    Object.assign(request, { originalUrl: request.url })
    request.url = request.url.slice(this.#mount.length)
    void provider.callback()(request, response)
  }
}
