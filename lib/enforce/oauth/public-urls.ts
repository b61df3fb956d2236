// Under which URLs the gateway is known to MCP clients. All come from the configured resource, never from what a
// client sent as Host: metadata that somebody else can bend would send people to log in elsewhere.

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

/** Where the resource's metadata is (RFC 9728). */
export function resourceMetadataUrl(config: McpAuthenticationConfig): string {
  const { base, path } = resourceLocationOf(config)
  return `${base}${RESOURCE_METADATA_PATH}${path}`
}

/** The gateway as an authorization server: what is advertised, and what its document says (RFC 8414 3.3). */
export function issuerUrl(config: McpAuthenticationConfig, form: MetadataForm): string {
  const { base, path } = resourceLocationOf(config)
  return form === 'bare' ? base : `${base}${path}`
}

/** What the document of that server says, by the form in which it was looked up. */
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

/** spec.md §2.5, unless that could be the registration of another server. */
export function registrationUrl(
  config: McpAuthenticationConfig,
  { server }: RootMetadataOwnership,
): string {
  const { base, path } = resourceLocationOf(config)
  return `${base}${SERVER_METADATA_PATH}${server === 'own' ? '' : path}${REGISTRATION_PATH}`
}

// Which public document or endpoint a path means. An authorization server `{base}/mcp` is looked for with its path behind
// the well-known part (RFC 8414), by older clients in front of it, and by the oldest without any.

/** `client` is where a registration can be read again; `unknown` is nobody's, and needs no token to hear so. */
export type OAuthPathKind =
  'resource' | 'server' | 'registration' | 'client' | 'authorize' | 'token' | 'unknown'

/** Whose document it is: that of the whole host, or that of the resource. */
export type MetadataForm = 'bare' | 'resource'

export interface OAuthPath {
  readonly kind: OAuthPathKind
  readonly form: MetadataForm
}

/** `own` is the path of the resource, '' at the root. Null for all other paths. */
export function parseOAuthPath(path: string, own: string): OAuthPath | null {
  const asked = path.replace(/\/$/, '')
  const resource = tailBelow(asked, RESOURCE_METADATA_PATH)
  if (resource !== null) return { kind: 'resource', form: resource === own ? 'resource' : 'bare' }
  for (const root of [SERVER_METADATA_PATH, OPENID_CONFIGURATION_PATH]) {
    const rest = tailBelow(asked, root)
    const tail = rest === null ? tailBelow(asked, own + root) : tailBelow(rest, own)
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

/** What follows `root`, with its slash; '' for `root` itself, null for what is not below it. */
function tailBelow(path: string, root: string): string | null {
  if (path === root) return ''
  return path.startsWith(`${root}/`) ? path.slice(root.length) : null
}

// Documents that stand at a host without a path: clear where the host has one protected resource, and anybody's guess
// where it has several.

/** Whether the document without a path is this resource's, or could be somebody else's. */
export interface RootMetadataOwnership {
  readonly resource: 'own' | 'ambiguous'
  /** That of its authorization server; resources with the same one share it. */
  readonly server: 'own' | 'ambiguous'
}

export const UNAMBIGUOUS_ROOTS: RootMetadataOwnership = { resource: 'own', server: 'own' }

/** Where the documents of a resource are asked for that nobody else can have. */
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
