// A cloud provider with tenants as spec.md §4.3 describes it, with its error codes of §7: no registration, no list of
// PKCE methods, no `resource`, no `iss` in callbacks, and a secret for web applications only.

import type { ServerResponse } from 'node:http'
import type { JWTPayload } from 'jose'
import type Provider from 'oidc-provider'
import type { Configuration } from 'oidc-provider'
import { CALLBACK, Double } from './double.ts'
import { answer } from './host.ts'
import type { Request } from './host.ts'
import { SigningKeys } from './signing-keys.ts'

export const TENANT = '5e7a11d0-0000-4000-8000-00000000feed'
export const CLIENT_ID = 'c11e27a9-0000-4000-8000-00000000cafe'
/** Must never appear in a response, a log or a dump. */
export const CLIENT_SECRET = 'tenant~planted~secret~Zm9yYmlkZGVu'

const MOUNT = `/${TENANT}`
const V2 = '/oauth2/v2.0'
const KEYS = '/discovery/v2.0/keys'
const RESOURCE = `api://${CLIENT_ID}`

const NO_RESOURCE =
  "AADSTS9010010: The resource parameter provided in the request doesn't match with the requested scopes."
const NO_SECRET =
  "AADSTS7000218: The request body must contain the following parameter: 'client_assertion' or 'client_secret'."
const NEEDLESS_SECRET =
  "AADSTS700025: Client is public so neither 'client_assertion' nor 'client_secret' should be presented."
const CROSS_ORIGIN =
  "AADSTS9002326: Cross-origin token redemption is permitted only for the 'Single-Page Application' client-type."

const ERRORS: Readonly<Record<string, string>> = {
  [NO_RESOURCE]: 'invalid_target',
  [NO_SECRET]: 'invalid_client',
  [NEEDLESS_SECRET]: 'invalid_client',
  [CROSS_ORIGIN]: 'invalid_request',
}

export interface TenantOptions {
  /** The registration of the only client. */
  readonly platform: 'web' | 'public'
  /** The version of its access tokens. */
  readonly version: 'v1' | 'v2'
}

export class TenantDouble extends Double {
  readonly #options: TenantOptions

  private constructor(keys: SigningKeys, options: TenantOptions) {
    super(keys, MOUNT)
    this.#options = options
  }

  static async start(
    options: Partial<TenantOptions> = {},
    keys?: SigningKeys,
  ): Promise<TenantDouble> {
    const known = keys ?? (await SigningKeys.create())
    return new TenantDouble(known, { platform: 'web', version: 'v2', ...options }).up()
  }

  get platform(): TenantOptions['platform'] {
    return this.#options.platform
  }

  /** The issuer of its access tokens, which is also configured in the gateway. */
  get issuer(): string {
    return `${this.host.origin}${MOUNT}/${this.#options.version === 'v1' ? '' : 'v2.0'}`
  }

  protected override get ownIssuer(): string {
    return `${this.host.origin}${MOUNT}/v2.0`
  }

  get audience(): string {
    return this.#options.version === 'v1' ? RESOURCE : CLIENT_ID
  }

  protected override claims(name: string): JWTPayload {
    return {
      iss: this.issuer,
      aud: this.audience,
      tid: TENANT,
      oid: `oid-of-${name}`,
      scp: 'mcp',
      ver: this.#options.version === 'v1' ? '1.0' : '2.0',
      roles: [...this.rolesOf(name)],
    }
  }

  protected override configuration(): Configuration {
    const isWeb = this.#options.platform === 'web'
    return {
      scopes: ['openid', 'offline_access', 'profile', 'email', 'mcp', `${RESOURCE}/mcp`],
      routes: { authorization: `${V2}/authorize`, token: `${V2}/token`, jwks: KEYS },
      clients: [
        {
          client_id: CLIENT_ID,
          redirect_uris: [CALLBACK],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: isWeb ? 'client_secret_post' : 'none',
          ...(isWeb ? { client_secret: CLIENT_SECRET } : {}),
        },
      ],
      features: {
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => RESOURCE,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({
            scope: `mcp ${RESOURCE}/mcp`,
            audience: this.audience,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
    }
  }

  protected override answers(request: Request, response: ServerResponse): boolean {
    const [path = '', query = ''] = request.url.split('?')
    if (path === `${MOUNT}/v2.0/.well-known/openid-configuration`) {
      answer(response, 200, this.#discovery())
      return true
    }
    if (path !== `${MOUNT}${V2}/authorize` && path !== `${MOUNT}${V2}/token`) return false
    const isToken = path.endsWith('/token')
    const given = new URLSearchParams(isToken ? request.body : query)
    const fault = given.has('resource') ? NO_RESOURCE : isToken && this.#faultOf(request, given)
    if (fault) {
      answer(response, ERRORS[fault] === 'invalid_client' ? 401 : 400, inWords(fault))
      return true
    }
    if (!isToken && !given.has('scope')) given.set('scope', 'openid')
    if (!isToken) request.url = `${path}?${given.toString()}`
    return false
  }

  protected override adapt(provider: Provider): void {
    provider.use(async (ctx, next) => {
      await next()
      const location = ctx.response.get('location') ?? ''
      if (location.startsWith(CALLBACK)) ctx.set('location', withoutIss(location))
    })
  }

  #faultOf({ headers }: Request, given: URLSearchParams): string | null {
    if (headers.origin !== undefined) return CROSS_ORIGIN
    const hasSecret = given.has('client_secret') || headers.authorization !== undefined
    if (this.#options.platform === 'public') return hasSecret ? NEEDLESS_SECRET : null
    return hasSecret ? null : NO_SECRET
  }

  #discovery(): object {
    const { origin } = this.host
    return {
      issuer: this.ownIssuer,
      authorization_endpoint: `${origin}${MOUNT}${V2}/authorize`,
      token_endpoint: `${origin}${MOUNT}${V2}/token`,
      jwks_uri: `${origin}${MOUNT}${KEYS}`,
      device_authorization_endpoint: `${origin}${MOUNT}${V2}/devicecode`,
      token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt'],
      response_modes_supported: ['query', 'fragment', 'form_post'],
      response_types_supported: ['code', 'id_token', 'code id_token', 'id_token token'],
      subject_types_supported: ['pairwise'],
      id_token_signing_alg_values_supported: ['RS256'],
      scopes_supported: ['openid', 'profile', 'email', 'offline_access'],
      claims_supported: ['sub', 'iss', 'aud', 'exp', 'iat', 'tid', 'ver'],
      request_uri_parameter_supported: false,
      http_logout_supported: true,
      tenant_region_scope: 'EU',
    }
  }
}

/** An error response in its format. */
function inWords(description: string): object {
  const code = Number(/^AADSTS(\d+)/.exec(description)?.[1])
  return {
    error: ERRORS[description],
    error_description: description,
    error_codes: [code],
    timestamp: new Date().toISOString(),
    trace_id: '00000000-0000-0000-0000-000000000000',
    correlation_id: '00000000-0000-0000-0000-000000000000',
  }
}

function withoutIss(location: string): string {
  const url = new URL(location)
  url.searchParams.delete('iss')
  return url.href
}
