// A login with openid-client at a protected MCP server. The library does not support MCP: this file reads the challenge and
// the resource metadata, and the library does the rest.

import * as openid from 'openid-client'
import { deadline } from '../deadline.ts'
import { ask, tools } from './ask-mcp.ts'
import { CALLBACK } from './double.ts'
import type { Browse } from './wallet.ts'

const WAIT_MS = 30_000

export interface OpenidLogin {
  readonly token: string
  tools(): Promise<string[]>
  /** A new access token for the refresh token. */
  refresh(): Promise<string>
}

export interface Advertised {
  readonly resource: string
  readonly authorization_servers: readonly string[]
  readonly scopes_supported?: readonly string[]
}

/** The resource metadata that the challenge of a 401 points to. */
async function resourceMetadata(url: URL): Promise<Advertised> {
  const { status, headers } = await ask(url, { method: 'POST' })
  const challenge = headers.get('www-authenticate') ?? ''
  const [, where] = /resource_metadata="([^"]+)"/.exec(challenge) ?? []
  if (status !== 401 || where === undefined) throw new Error(`no challenge: ${status} ${challenge}`)
  return JSON.parse((await ask(where)).text) as Advertised
}

/** Where the well-known part of the metadata URL is: before the path (`oauth2`, RFC 8414) or after it (`oidc`). */
export async function logInOpenid(
  url: URL,
  browse: Browse,
  algorithm: 'oauth2' | 'oidc',
): Promise<OpenidLogin> {
  return deadline(logIn(url, browse, algorithm), WAIT_MS, 'a login with openid-client')
}

async function logIn(url: URL, browse: Browse, algorithm: 'oauth2' | 'oidc'): Promise<OpenidLogin> {
  const { resource, authorization_servers: servers } = await resourceMetadata(url)
  const config = await openid.dynamicClientRegistration(
    new URL(servers[0]!),
    {
      client_name: 'judge',
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    openid.None(),
    { algorithm, execute: [openid.allowInsecureRequests] },
  )
  const verifier = openid.randomPKCECodeVerifier()
  const state = openid.randomState()
  const authorization = openid.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    scope: 'mcp',
    resource,
    state,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const granted = await openid.authorizationCodeGrant(
    config,
    await browse(authorization),
    { pkceCodeVerifier: verifier, expectedState: state },
    { resource },
  )
  return {
    token: granted.access_token,
    tools: () => tools(url, granted.access_token),
    refresh: async () => {
      const again = openid.refreshTokenGrant(config, granted.refresh_token!, { resource })
      return (await deadline(again, WAIT_MS, 'a refresh')).access_token
    },
  }
}
