-- Chooses the virtual host of a request: first by its model, then by its key (see names.py for the spelling).

-- The route's metadata are read afresh each time; handle:virtualHost() would keep the first one.
local function enter(handle, domain)
  handle:headers():replace(KEY_HEADER, domain)
  handle:clearRouteCache()
  return handle:metadata()
end

local function percent(odd)
  return string.format('%%%02x', string.byte(odd))
end

local function model_domain(model)
  if not model or model == '' then
    return NO_MODEL
  elseif #model > MAX_MODEL_BYTES then
    return MODEL_PREFIX .. COLD
  end
  return MODEL_PREFIX .. string.gsub(string.lower(model), ODD, percent)
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
local function read(request, headers, members, source)
  if source.header then
    return headers:get(source.header)
  elseif source.cookie then
    return cookie(headers, source.cookie)
  elseif source.claim then
    return claim(request, source)
  elseif source.certificate then
    return spiffe_id(request)
  end
  return members[source.field]
end

-- The first source that has a value; an empty one counts as absent.
local function find_key(request, headers, members, sources)
  for _, source in ipairs(sources) do
    local value = read(request, headers, members, source)
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

-- Whether the request prefills a prompt; what manages models or counts tokens has no key.
local function has_key(headers)
  return KEYED_PATHS[string.match(headers:get(':path') or '', '^[^?]*')]
end

-- Every request starts in the virtual host that answers "no such model", which also knows the body fields that
-- any plan of this gateway looks at. A body that is no JSON object names no model.
function envoy_on_request(handle)
  if handle:headers():get(':method') == 'CONNECT' then
    return -- its body never ends
  end
  local fields = handle:virtualHost():metadata():get('fields') or {}
  local body = handle:body()
  local members = body and json_members(body:getBytes(0, body:length()), fields, MAX_STEPS) or {}
  local plan = enter(handle, model_domain(members.model))
  local prefix = plan:get('prefix')
  if not prefix then
    return
  end
  local headers, request = handle:headers(), handle:streamInfo()
  local raw = body and has_key(headers) and find_key(request, headers, members, plan:get('sources'))
  local key = raw and canonical(raw, plan:get('max_length'))
  request:dynamicMetadata():set(NAMESPACE, 'plan', plan:get('plan'))
  request:dynamicMetadata():set(NAMESPACE, 'key', key or raw and REJECTED or '')
  enter(handle, prefix .. (key or COLD))
end
