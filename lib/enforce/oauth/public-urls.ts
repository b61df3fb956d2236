// The public OAuth URLs and paths of the gateway. All URLs come from the configured resource, never from the client's
// Host header: metadata that an attacker can influence could send users to a foreign login page.

import type { McpAuthenticationConfig } from '../../config/policy-types.ts'
import {
  OPENID_CONFIGURATION_PATH,
  RESOURCE_METADATA_PATH,
  SERVER_METADATA_PATH,
} from '../../core/well-known-paths.ts'
import type { GatewayUrls } from './providers.ts'

const REGISTRATION_PATH = '/client-registration'

export interface ResourceLocation {
  /** `https://gateway.example` */
  readonly base: string
  /** The path of the resource: `/mcp`, or '' for the root. */
  readonly path: string
}

export function resourceLocationOf({
  resourceMetadata,
}: McpAuthenticationConfig): ResourceLocation {
  const { origin, pathname } = new URL(resourceMetadata.resource)
  return { base: origin, path: pathname.replace(/\/$/, '') }
}

/** The URL of the protected resource metadata (RFC 9728). */
export function resourceMetadataUrl(config: McpAuthenticationConfig): string {
  const { base, path } = resourceLocationOf(config)
  return `${base}${RESOURCE_METADATA_PATH}${path}`
}

/** The issuer of the gateway as an authorization server, advertised and in its metadata (RFC 8414 3.3). */
export function issuerUrl(config: McpAuthenticationConfig, form: MetadataForm): string {
  const { base, path } = resourceLocationOf(config)
  return form === 'bare' ? base : `${base}${path}`
}

/** The URLs in the authorization server metadata, by the form of the path under which it was requested. */
export function serverUrls(
  config: McpAuthenticationConfig,
  form: MetadataForm,
  roots: RootMetadataOwnership,
): GatewayUrls {
  const { base, path } = resourceLocationOf(config)
  return {
    issuer: issuerUrl(config, form),
    document: `${base}${SERVER_METADATA_PATH}${form === 'bare' ? '' : path}`,
    registration: registrationUrl(config, roots),
  }
}

/** The URL of spec.md §2.5, unless it could belong to another authorization server. */
export function registrationUrl(
  config: McpAuthenticationConfig,
  { server }: RootMetadataOwnership,
): string {
  const { base, path } = resourceLocationOf(config)
  return `${base}${SERVER_METADATA_PATH}${server === 'own' ? '' : path}${REGISTRATION_PATH}`
}

/** `client` is the URL to read a registration again; `unknown` gets a 404 without a token. */
export type OAuthPathKind =
  'resource' | 'server' | 'registration' | 'client' | 'authorize' | 'token' | 'unknown'

/** `bare`: a document of the whole host. `resource`: a document of the resource. */
export type MetadataForm = 'bare' | 'resource'

export interface OAuthPath {
  readonly kind: OAuthPathKind
  readonly form: MetadataForm
}

/**
 * Returns null for a path that is no OAuth path. Clients look up the metadata of `{base}/mcp` with the resource path after
 * the well-known part (RFC 8414), older ones with it before that part, and the oldest without it.
 */
export function parseOAuthPath(path: string, resourcePath: string): OAuthPath | null {
  const requested = path.replace(/\/$/, '')
  const resource = tailBelow(requested, RESOURCE_METADATA_PATH)
  if (resource !== null)
    return { kind: 'resource', form: resource === resourcePath ? 'resource' : 'bare' }
  for (const root of [SERVER_METADATA_PATH, OPENID_CONFIGURATION_PATH]) {
    const rest = tailBelow(requested, root)
    const tail =
      rest === null ? tailBelow(requested, resourcePath + root) : tailBelow(rest, resourcePath)
    if (tail !== null) return { kind: classifyOAuthPath(root, tail), form: 'resource' }
    if (rest !== null) return { kind: classifyOAuthPath(root, rest), form: 'bare' }
  }
  return null
}

function classifyOAuthPath(root: string, tail: string): OAuthPathKind {
  if (tail === '') return 'server'
  if (root === OPENID_CONFIGURATION_PATH) return 'unknown'
  if (tail === REGISTRATION_PATH) return 'registration'
  if (tailBelow(tail, REGISTRATION_PATH) !== null) return 'client'
  if (tail === '/authorize') return 'authorize'
  return tail === '/token' ? 'token' : 'unknown'
}

/** Returns the part after `root` with its slash; '' for `root` itself, null for a path that is not below it. */
function tailBelow(path: string, root: string): string | null {
  if (path === root) return ''
  return path.startsWith(`${root}/`) ? path.slice(root.length) : null
}

/** Whether the documents at the host root belong to this resource; ambiguous when the host has several resources. */
export interface RootMetadataOwnership {
  readonly resource: 'own' | 'ambiguous'
  /** The authorization server metadata; resources with the same server share it. */
  readonly server: 'own' | 'ambiguous'
}

export const UNAMBIGUOUS_ROOTS: RootMetadataOwnership = { resource: 'own', server: 'own' }

/** The metadata paths that contain the resource path, which no other resource can share. */
export function metadataPathsOf(config: McpAuthenticationConfig): string[] {
  const { path } = resourceLocationOf(config)
  const servers = [SERVER_METADATA_PATH, OPENID_CONFIGURATION_PATH].flatMap((root) => [
    `${root}${path}`,
    `${path}${root}`,
  ])
  return [`${RESOURCE_METADATA_PATH}${path}`, ...servers]
}

export function rootMetadataPathsOf({ resource, server }: RootMetadataOwnership): string[] {
  return [
    ...(resource === 'own' ? [RESOURCE_METADATA_PATH] : []),
    ...(server === 'own' ? [SERVER_METADATA_PATH, OPENID_CONFIGURATION_PATH] : []),
  ]
}

export function haveSameHost(
  one: McpAuthenticationConfig,
  other: McpAuthenticationConfig,
): boolean {
  return resourceLocationOf(one).base === resourceLocationOf(other).base
}

export function areSameResource(
  one: McpAuthenticationConfig,
  other: McpAuthenticationConfig,
): boolean {
  return haveSameHost(one, other) && resourceLocationOf(one).path === resourceLocationOf(other).path
}

export function haveSameServer(
  one: McpAuthenticationConfig,
  other: McpAuthenticationConfig,
): boolean {
  return (
    one.issuer === other.issuer &&
    one.provider === other.provider &&
    one.clientId === other.clientId
  )
}
