# Open vSwitch. 10.0.0.5 is the collector, eth0 names the host, br0 is the bridge.
ovs-vsctl -- --id=@sflow create sflow agent=eth0 target='"10.0.0.5:6343"' header=128 sampling=256 polling=10 \
          -- set bridge br0 sflow=@sflow

# Or every packet's flow by IPFIX, as a record a flow and at most 10 s.
ovs-vsctl -- --id=@ipfix create ipfix targets='"10.0.0.5:4739"' obs_domain_id=1 obs_point_id=1 sampling=1 \
             cache_active_timeout=10 cache_max_flows=65535 \
          -- set bridge br0 ipfix=@ipfix
