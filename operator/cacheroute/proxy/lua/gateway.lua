-- Chooses the virtual host of a request by its model and its key (see names.py for the spelling). What a request costs
-- is crossings between Envoy and Lua, so there are few, and a body that nobody needs is not read.

local function enter(handle, domain)
  handle:headers():replace(KEY_HEADER, domain)
  handle:clearRouteCache()
end

-- The plans of the gateway (routes.py), converted once for each digest: every request reads that only.
local newest, newest_digest

local function plans_of(handle)
  local metadata = handle:virtualHost():metadata()
  local digest = metadata:get('digest')
  if digest ~= newest_digest or not newest then
    newest, newest_digest = metadata:get('gateway'), digest
  end
  return newest
end

local function percent(odd)
  return string.format('%%%02x', string.byte(odd))
end

-- The plan that has the model; nil where none has it.
local function plan_of(gateway, model)
  if not model or model == '' then
    return gateway.plans[gateway.unnamed]
  end
  local name = #model <= MAX_MODEL_BYTES and string.gsub(string.lower(model), ODD, percent)
  return gateway.plans[gateway.models[name] or gateway.models[ANY_MODEL]]
end

-- The value of a cookie (RFC 6265, section 5.4), the first of several; nil where there is none. No pattern here can
-- match at more than one place, so the time is linear in the header's length.
local function cookie(headers, wanted)
  for index = 0, headers:getNumValues('cookie') - 1 do
    for pair in string.gmatch(headers:getAtIndex('cookie', index), '[^;]+') do
      local name, equals = string.find(pair, '%S'), string.find(pair, '=', 1, true)
      if equals and string.sub(pair, name, equals - 1) == wanted then
        return (string.gsub(string.sub(pair, equals + 1), '^"(.*)"$', '%1'))
      end
    end
  end
  return nil
end

-- A claim of a token that Envoy verified: the one with this name, else the one that the dots lead to.
local function claim(request, source)
  local verified = request:dynamicMetadata():get(JWT)
  local value = verified and verified[source.provider]
  if type(value) == 'table' and value[source.claim] == nil then
    for name in string.gmatch(source.claim, '[^.]+') do
      value = type(value) == 'table' and value[name]
    end
  else
    value = value and value[source.claim]
  end
  return type(value) == 'string' and value or nil
end

-- The identity in a client certificate that Envoy validated (X.509-SVID, section 2: exactly one URI).
local function spiffe_id(request)
  local connection = request:downstreamSslConnection()
  if not connection or not connection:peerCertificateValidated() then
    return nil
  end
  local uris = connection:uriSanPeerCertificate()
  return #uris == 1 and string.match(uris[1], '^spiffe://.+') or nil
end

-- A header that a request has twice has both values with a comma between them, which is in no key.
local function read(handle, headers, members, source)
  if source.header then
    return headers:get(source.header)
  elseif source.cookie then
    return cookie(headers, source.cookie)
  elseif source.claim then
    return claim(handle:streamInfo(), source)
  elseif source.certificate then
    return spiffe_id(handle:streamInfo())
  end
  return members[source.field]
end

-- The first source that has a value; an empty one counts as absent. Where the body is needed for that and has not
-- been read (`members` is nil), the second value is true.
local function find_key(handle, headers, members, sources)
  for _, source in ipairs(sources) do
    if source.field and not members then
      return nil, true
    end
    local value = read(handle, headers, members, source)
    if value and value ~= '' then
      return value
    end
  end
  return nil
end

local function canonical(raw, max_length)
  if #raw > max_length then
    return nil
  end
  local key = string.lower(raw)
  if string.find(key, ODD) or string.sub(key, -1) == '.' then
    return nil
  end
  return key
end

-- Whether a request to this path prefills a prompt; what manages models or counts tokens has no key.
local function prefills(path)
  return path and (KEYED_PATHS[path] or KEYED_PATHS[string.match(path, '^[^?]*')])
end

-- Whether there is a body, and surely none so large that Envoy must answer 413, which it does where it is read.
local function may_go_unread(headers)
  local text = headers:get('content-length')
  local length = text and tonumber(text)
  return length and length > 0 and length <= MAX_BODY_BYTES
end

-- The plan of a request, and its key as it stands there. Only where one plan serves every model can the key be known
-- before the body is. A request without a body has no key; a body that is no JSON object names no model.
local function choose(handle, headers, gateway, keyed)
  local only = gateway.plans[gateway.only]
  if only and may_go_unread(headers) then
    local raw, unread
    if keyed then
      raw, unread = find_key(handle, headers, nil, only.sources)
    end
    if not unread then
      return only, raw
    end
  end
  local body = handle:body()
  if not body then
    return plan_of(gateway, nil), nil, true
  end
  local members = json_members(body:getBytes(0, body:length()), gateway.fields, MAX_STEPS) or {}
  local plan, raw = plan_of(gateway, members.model), nil
  if plan and keyed then
    raw = find_key(handle, handle:headers(), members, plan.sources)
  end
  return plan, raw, (members.model or '') == ''
end

-- Every request starts in the virtual host that answers "no such model".
function envoy_on_request(handle)
  local headers = handle:headers()
  local keyed = prefills(headers:get(':path'))
  if not keyed and headers:get(':method') == 'CONNECT' then
    return -- its body never ends
  end
  local plan, raw, unnamed = choose(handle, headers, plans_of(handle), keyed)
  if not plan then
    if unnamed then
      enter(handle, NO_MODEL)
    end
    return
  end
  local key = raw and canonical(raw, plan.max_length)
  handle:streamInfo():dynamicMetadata():set(NAMESPACE, 'key', key or raw and REJECTED or '')
  enter(handle, plan.prefix .. (key or COLD))
end
